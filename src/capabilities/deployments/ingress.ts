import {
  Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from "node:http";
import { isIPv4 } from "node:net";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import { FairShares } from "../../kernel/fair-shares.ts";
import { networkOf, siteOf } from "../../kernel/ip-address.ts";
import {
  INGRESS_TIMEOUT_MS,
  MAX_INGRESS,
  MAX_INGRESS_OF_ONE_APP,
  MAX_INTERIM_ANSWERS,
  MAX_RATE_BUCKETS,
  MAX_SMALL_PIECES_AT_ONCE,
  SMALL_PIECE_BYTES,
  SMALL_PIECES_PER_SECOND,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";
import { msToReceive } from "../../kernel/pace.ts";
import { TokenBuckets } from "../../kernel/token-buckets.ts";
import type { Runner } from "../../runner/runner.ts";
import type { Database } from "../../storage/database.ts";
import { prepared } from "../../storage/prepared.ts";

export interface IngressOptions {
  database: Pick<Database, "read">;
  runner: Pick<Runner, "replicasOf">;
  /** The parent domain of the apps' domains. */
  domain: string;
  log: Logger;
  /** A monotonic clock, in milliseconds. Default: that of this process. */
  elapsed?: () => number;
}

/** Headers that concern a single connection and are not forwarded (RFC 9110 section 7.6.1). */
const HOP_BY_HOP = new Set(
  "connection keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding upgrade".split(
    " ",
  ),
);
const FIRST_FINAL_STATUS = 200;
const ID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

/**
 * Forwards requests for an app's domain to the ready replicas of its live deployment, round-robin. The slots of an app are shared among the
 * addresses of its clients, and so are all slots; the latter also among parents with their sub-organizations.
 */
export class Ingress {
  readonly #options: IngressOptions;
  readonly #host: RegExp;
  readonly #ofApps = new Map<string, SharesOfClients>();
  readonly #ofClients = new SharesOfClients(MAX_INGRESS);
  readonly #ofOrganizations = new FairShares(MAX_INGRESS);
  readonly #smallPieces: TokenBuckets;
  readonly #agent = new Agent({ keepAlive: true, maxFreeSockets: 16 });
  #turn = 0;

  constructor(options: IngressOptions) {
    this.#options = options;
    const { elapsed = () => performance.now() } = options;
    const rate = { perSecond: SMALL_PIECES_PER_SECOND, burst: MAX_SMALL_PIECES_AT_ONCE };
    this.#smallPieces = new TokenBuckets(rate, MAX_RATE_BUCKETS, elapsed);
    this.#host = new RegExp(`^app-(${ID})\\.${options.domain.replaceAll(".", "\\.")}(?::[0-9]+)?$`, "i");
  }

  /** Whether a request is for an app. */
  takes({ host = "" }: IncomingHttpHeaders): boolean {
    return this.#host.test(host);
  }

  /** @param remoteAddress the client's IP address, if it is known */
  pass(incoming: IncomingMessage, answer: ServerResponse, remoteAddress: string | undefined): void {
    const [, appId = ""] = this.#host.exec(incoming.headers.host ?? "") ?? [];
    const id = appId.toLowerCase();
    if (!this.#enter(id, remoteAddress ?? "", answer)) {
      refuse(answer, 503, "too many requests to this app are in progress");
      return;
    }
    this.#send(id, incoming, answer).catch((error: Error) => {
      this.#options.log.warn({ appId: id, reason: error.message }, "a request to an app could not be forwarded");
      refuse(answer, 502, "the app could not be reached");
    });
  }

  async close(): Promise<void> {
    this.#agent.destroy();
  }

  /** Whether the request gets its slots, which it holds until it is answered. */
  #enter(appId: string, address: string, answer: ServerResponse): boolean {
    const ofApp = this.#ofApps.get(appId) ?? new SharesOfClients(MAX_INGRESS_OF_ONE_APP);
    const leaveApp = ofApp.take(address);
    const leave = leaveApp && this.#ofClients.take(address);
    if (!leave) {
      leaveApp?.();
      return false;
    }
    this.#ofApps.set(appId, ofApp);
    answer.once("close", () => {
      leave();
      leaveApp();
      if (ofApp.isUnused) this.#ofApps.delete(appId);
    });
    return true;
  }

  async #send(appId: string, incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const { database, runner } = this.#options;
    const [live] = await selectLive(database.read, { appId });
    // If the client has disconnected meanwhile, nothing would end a request that starts now.
    if (answer.destroyed) return;
    if (!live) return refuse(answer, 404, "there is no such app, or it has no live deployment");
    const rootId = rootIdOf({ id: live.organization_id, parentId: live.parent_id });
    const leave = this.#ofOrganizations.take(rootId);
    if (!leave) return refuse(answer, 503, "too many requests are on their way to the apps of this organization");
    answer.once("close", leave);
    const ready = (runner.replicasOf(live.id) ?? []).filter(({ isReady, address }) => isReady && isIPv4(address));
    const replica = ready[this.#turn++ % Math.max(ready.length, 1)];
    if (!replica) return refuse(answer, 503, "no replica of the app's live deployment is ready on this server");
    const outgoing = request({
      agent: this.#agent,
      host: replica.address,
      port: live.public_ingress_port,
      method: incoming.method ?? "GET",
      path: incoming.url ?? "/",
      headers: forwarded(incoming),
      timeout: INGRESS_TIMEOUT_MS,
    });
    let interim = 0;
    outgoing.on("information", () => {
      if (++interim > MAX_INTERIM_ANSWERS) outgoing.destroy(new Error("it sends too many interim answers"));
    });
    outgoing.on("timeout", () => outgoing.destroy(new Error("the app took too long")));
    outgoing.on("response", (response) => {
      // What had arrived already is still parsed.
      if (outgoing.destroyed) return;
      const { statusCode = 0 } = response;
      // The parser accepts any three digits as a status. Lower ones are not final.
      if (statusCode < FIRST_FINAL_STATUS) return outgoing.destroy(new Error(`its status is ${statusCode}`));
      this.#boundPieces(response, rootId, () => outgoing.destroy(new Error("it answers in too many small pieces")));
      answer.writeHead(statusCode, withoutHops(response.headers));
      response.pipe(answer);
      endWhereNobodyReads(response, answer);
      response.on("error", () => answer.destroy());
    });
    outgoing.on("error", (error) => {
      this.#options.log.debug({ appId, reason: error.message }, "an app did not answer");
      if (answer.headersSent) answer.destroy();
    });
    // If the response switches protocols, the connection ends without any other event.
    outgoing.on("close", () => refuse(answer, 502, "the app did not answer"));
    answer.once("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  }

  /** Counts small pieces where the parser passes them on, which it also does while nobody reads them. */
  #boundPieces(response: IncomingMessage, rootId: string, leave: () => void): void {
    const push = response.push.bind(response);
    let isLeft = false;
    response.push = (piece: Buffer | null) => {
      if (piece === null || piece.length >= SMALL_PIECE_BYTES) return !isLeft && push(piece);
      // What had arrived already is still parsed.
      if (isLeft) return false;
      if (this.#smallPieces.take(rootId, 1) === 0) return push(piece);
      isLeft = true;
      leave();
      return false;
    };
  }
}

/** Slots that are shared among the addresses of clients, and among those who have many IPv6 networks. */
class SharesOfClients {
  readonly #ofNetworks: FairShares;
  readonly #ofSites: FairShares;

  constructor(slots: number) {
    this.#ofNetworks = new FairShares(slots);
    this.#ofSites = new FairShares(slots);
  }

  get isUnused(): boolean {
    return this.#ofNetworks.isUnused;
  }

  /** A function that gives the slot back; undefined if the address gets none. */
  take(address: string): (() => void) | undefined {
    const leaveSite = this.#ofSites.take(siteOf(address));
    const leaveNetwork = leaveSite && this.#ofNetworks.take(networkOf(address));
    if (leaveNetwork)
      return () => {
        leaveNetwork();
        leaveSite();
      };
    leaveSite?.();
    return undefined;
  }
}

/** Ends responses that the client reads too slowly. An app's response may be endless, and would use a slot for as long. */
function endWhereNobodyReads(from: IncomingMessage, to: ServerResponse): void {
  let deadline: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(deadline);
  // The pipe pauses when the connection's buffer is full, and resumes when it drains.
  from.on("pause", () => {
    stop();
    deadline = setTimeout(() => to.destroy(), msToReceive(to.writableLength)).unref();
  });
  to.on("drain", stop);
  to.once("close", stop);
}

function forwarded({ headers, socket }: IncomingMessage): OutgoingHttpHeaders {
  const { "x-forwarded-for": before, ...others } = withoutHops(headers);
  const from = [before, socket.remoteAddress].filter(Boolean).join(", ");
  const host = headers.host ?? "";
  return { ...others, host, ...framingOf(headers), "x-forwarded-for": from, "x-forwarded-host": host };
}

/**
 * The headers that tell the program where the body ends: those of the incoming request, whatever its method, and even if its `Connection` header
 * lists them. Without them, the program would read the body as the next request on the connection, which may be another client's.
 */
function framingOf(headers: IncomingHttpHeaders): OutgoingHttpHeaders {
  if (headers["transfer-encoding"] !== undefined) return { "transfer-encoding": "chunked" };
  const length = headers["content-length"];
  return length === undefined ? {} : { "content-length": length };
}

function withoutHops(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  const named = new Set((headers.connection ?? "").toLowerCase().split(/\s*,\s*/));
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name) && !named.has(name)));
}

function refuse(answer: ServerResponse, status: number, message: string): void {
  if (answer.headersSent || answer.destroyed) return;
  const body = JSON.stringify({ message });
  answer.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) }).end(body);
}

const selectLive = prepared<{ appId: string }>()((db, { appId }) =>
  db
    .selectFrom("tvc_apps as a")
    .innerJoin("tvc_deployments as d", (join) =>
      join.onRef("d.organization_id", "=", "a.organization_id").onRef("d.id", "=", "a.live_deployment_id"),
    )
    .innerJoin("organizations as o", "o.id", "a.organization_id")
    .select(["d.id", "d.public_ingress_port", "a.organization_id", "o.parent_id"])
    .where("a.id", "=", appId),
);
