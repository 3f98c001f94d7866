import { Socket } from "node:net";
import { formsOf, inBase64 } from "../../kernel/without-secrets.ts";
import { composed, identityOf } from "./compose.ts";
import { INVALID_ADDRESS, type Mailer, printableLine, shownReply } from "./mailer.ts";
import { isMailbox, type SenderRules } from "./sender.ts";

/** A mail server, as its URL describes it. */
export interface SmtpServer {
  host: string;
  port: number;
  /** Whether TLS starts with the first byte. */
  secure: boolean;
  auth?: { user: string; pass: string };
}

export interface SmtpDeadlines {
  connectionMs: number;
  /** How long the server may be silent, at any step. */
  silenceMs: number;
  wholeMessageMs: number;
}

const DEADLINES: SmtpDeadlines = { connectionMs: 10_000, silenceMs: 15_000, wholeMessageMs: 45_000 };
const MAX_REPLY_BYTES = 64 * 1024;
/** Bytes that a server may send altogether, TLS included. A real one sends some thousands. */
const MAX_RECEIVED_BYTES = 256 * 1024;
const COUNT_EVERY_MS = 50;

export interface SmtpMailerOptions {
  server: SmtpServer;
  rules: SenderRules;
  acceptanceIsDelivery: boolean;
  deadlines?: SmtpDeadlines;
}

/**
 * Parses `smtp://user:password@host:587` or `smtps://…`. Reserved characters in the user and password are percent-encoded. Any other part
 * of a URL is refused, so that the URL cannot set options of the client.
 */
export function parseSmtpUrl(text: string): { server: SmtpServer } | { problem: string } {
  const url = URL.parse(text);
  if (url === null || url.hostname === "") return { problem: "is not a URL such as smtp://user:password@host:587" };
  if (url.search !== "" || url.hash !== "" || !["", "/"].includes(url.pathname)) {
    return { problem: "must hold nothing after host and port" };
  }
  const secure = url.protocol === "smtps:";
  const server = {
    host: url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? (secure ? 465 : 587) : Number(url.port),
    secure,
  };
  if (url.username === "") return { server };
  try {
    return {
      server: { ...server, auth: { user: decodeURIComponent(url.username), pass: decodeURIComponent(url.password) } },
    };
  } catch {
    return { problem: "must have a user name and password whose reserved characters are percent-encoded" };
  }
}

/**
 * Sends mail to an SMTP server, each over its own connection, so that one that hangs delays no other, and only until its deadline. TLS is
 * used if the server offers it. A password is sent only over TLS, or to this machine.
 */
export function createSmtpMailer(options: SmtpMailerOptions): Mailer {
  const { server, rules, acceptanceIsDelivery, deadlines = DEADLINES } = options;
  const closing = new AbortController();
  let problem: string | undefined;
  return {
    acceptanceIsDelivery,
    problem: () => problem,
    close: async () => closing.abort(new Error("it was given up because this service is stopping")),
    identify: (message) => identityOf(message, rules),
    async send(message) {
      const identity = identityOf(message, rules);
      if (!isMailbox(message.to)) return { result: "bounced", identity, diagnosticCode: INVALID_ADDRESS };
      const secrets = [...message.secrets, ...loginSecrets(server.auth)];
      const bounds = boundsOf(deadlines.wholeMessageMs);
      const signal = AbortSignal.any([closing.signal, bounds.signal]);
      try {
        const transport = await transportTo(server, deadlines, bounds.socket);
        const { response } = await transport.sendMail({ ...composed(message, rules), signal });
        problem = undefined;
        const reply = shownReply(response, [...secrets, ...nameOf(server)]);
        const messageId = idInReply(reply) ?? identity.messageId;
        return { result: "accepted", identity: { ...identity, messageId }, reply };
      } catch (error) {
        const failure = (signal.aborted ? signal.reason : error) as SmtpError;
        const refusal = refusalOf(failure, secrets, nameOf(server));
        if (!closing.signal.aborted) problem = isAboutMail(failure) ? undefined : refusal.reason;
        return { identity, ...refusal };
      } finally {
        bounds.end();
      }
    },
  };
}

/**
 * The bounds on a whole conversation. The client bounds each step and each reply only, and keeps any number of empty lines and of replies
 * that it did not wait for.
 */
function boundsOf(wholeMs: number) {
  const socket = new Socket();
  const givenUp = new AbortController();
  const giveUp = (reason: string) => givenUp.abort(new Error(reason));
  const deadline = setTimeout(() => giveUp(`the server did not finish within ${wholeMs / 1000} s`), wholeMs);
  const count = setInterval(() => {
    if (socket.bytesRead > MAX_RECEIVED_BYTES) giveUp(`the server sent more than ${MAX_RECEIVED_BYTES} bytes`);
  }, COUNT_EVERY_MS);
  return {
    socket,
    signal: givenUp.signal,
    end() {
      clearTimeout(deadline);
      clearInterval(count);
    },
  };
}

async function transportTo(server: SmtpServer, deadlines: Omit<SmtpDeadlines, "wholeMessageMs">, socket: Socket) {
  // Loaded with the first mail, because its modules are slow to load at startup.
  const { createTransport } = await import("nodemailer");
  return createTransport({
    ...server,
    socket,
    requireTLS: server.auth !== undefined && !server.secure && !isThisMachine(server.host),
    connectionTimeout: deadlines.connectionMs,
    greetingTimeout: deadlines.silenceMs,
    dnsTimeout: deadlines.connectionMs,
    socketTimeout: deadlines.silenceMs,
    socketCloseTimeout: 0,
    maxResponseSize: MAX_REPLY_BYTES,
    // Explicit, because the default of `rejectUnauthorized` comes from the environment.
    tls: { rejectUnauthorized: true, minVersion: "TLSv1.2" },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
}

/** Connects and logs in without sending a mail. Resolves to the problem, in the server's words if it reports any. */
export async function smtpProblem(server: SmtpServer, stepMs: number): Promise<string | undefined> {
  const { socket, signal, end } = boundsOf(DEADLINES.wholeMessageMs);
  const transport = await transportTo(server, { connectionMs: stepMs, silenceMs: stepMs }, socket);
  signal.addEventListener("abort", () => socket.destroy(signal.reason));
  try {
    await transport.verify();
    return undefined;
  } catch (error) {
    const { response, message } = (signal.aborted ? signal.reason : error) as SmtpError;
    return printableLine(response ?? message, loginSecrets(server.auth));
  } finally {
    end();
    socket.destroy();
    transport.close();
  }
}

/** The forms in which a server is sent a password, and may repeat it. */
export function loginSecrets(auth: SmtpServer["auth"]): string[] {
  if (!auth) return [];
  const { user, pass } = auth;
  // AUTH PLAIN sends user and password in one Base64 text.
  return [inBase64(`\0${user}\0${pass}`), ...formsOf(pass)];
}

const isThisMachine = (host: string): boolean => /^(localhost|127(\.\d+){3}|::1)$/.test(host);

type SmtpError = Error & { code?: string; responseCode?: number; permanent?: boolean; response?: string };

/**
 * The server's permanent rejection of this mail. Undefined for problems that say nothing about it: no connection, a failed login, an
 * invalid reply.
 */
function refusalOf(error: SmtpError, secrets: readonly string[], names: string[]) {
  const { permanent, response, message } = error;
  const reason = printableLine(response ?? message, secrets);
  if (!isAboutMail(error) || response === undefined) return { result: "deferred", reason } as const;
  const diagnosticCode = shownReply(response, [...secrets, ...names]);
  return permanent === true
    ? ({ result: "bounced", diagnosticCode } as const)
    : ({ result: "deferred", reason, diagnosticCode } as const);
}

/** The name of the mail server, unless it is a word that occurs in replies, such as `mail`. */
const nameOf = ({ host }: SmtpServer): string[] => (/[.:]/.test(host) ? [host] : []);

/** Whether the server answered that it does not take this mail, or not now. */
const isAboutMail = ({ code }: SmtpError): boolean => code === "EENVELOPE" || code === "EMESSAGE";

// Amazon SES replies `250 Ok <id>`, Postfix `250 2.0.0 Ok: queued as <id>`, Exim `250 OK id=<id>`.
const REPLY_ID = /^250[ -](?:2\.\d\.\d )?(?:OK:? )?(?:queued as |id=)?([\w.-]{6,128})$/i;

/** The id that a server gave the mail, if its reply contains one. */
export function idInReply(reply: string): string | undefined {
  const id = REPLY_ID.exec(reply)?.[1];
  return id !== undefined && /\d/.test(id) ? id : undefined;
}
