import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { Type } from "typebox";
import { makeStamp, type StampingKey } from "../crypto/make-stamp.ts";
import type { Engine } from "../engine/engine.ts";
import { activityAt, submitOwn } from "../engine/own-activities.ts";
import { matches } from "../engine/validate.ts";
import type { Mount, RequestHead } from "../http/route.ts";
import type { Clock } from "../kernel/clock.ts";
import { durationText } from "../kernel/durations.ts";
import { fail } from "../kernel/errors.ts";
import { type Cidr, isWithin, parseCidr, parseIpAddress } from "../kernel/ip-address.ts";
import { parseJson } from "../kernel/json.ts";
import { FIRST_VISIT_MS } from "../kernel/limits.ts";
import { type Credentials, writeFileDurably } from "./credentials-file.ts";

/**
 * The link of the first start. Anybody with the link can use it once, on this machine and for a short time, to create a passkey for the root user.
 * That is an ordinary activity, stamped with the key that this start generated and wrote to the credentials file.
 */
export class FirstVisit {
  readonly #engine: Engine;
  readonly #clock: Clock;
  #open: Open | undefined;

  constructor({ engine, clock }: { engine: Engine; clock: Clock }) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** Returns the token of the link. */
  open({ organizationId, userId, apiKey }: Credentials): string | undefined {
    const { publicKey, privateKey } = apiKey;
    if (privateKey === undefined) return undefined;
    const token = randomBytes(TOKEN_BYTES).toString("base64url");
    const until = this.#clock() + FIRST_VISIT_MS;
    const open = { digest: sha256(token), until, organizationId, userId, key: { publicKey, privateKey } };
    this.#open = open;
    // Do not keep the key for longer than the link is valid.
    setTimeout(() => {
      if (this.#open === open) this.#open = undefined;
    }, FIRST_VISIT_MS).unref();
    return token;
  }

  get mount(): Mount {
    return {
      routes: [
        {
          method: "POST",
          path: "/console/first-visit",
          operation: "first_visit",
          accept: (head) => {
            refuseElsewhere(head);
            return async (body) => ({ body: JSON.stringify(await this.#answer(head, body)) });
          },
        },
      ],
    };
  }

  async #answer(head: RequestHead, body: Buffer): Promise<{ organizationId: string }> {
    const request = parseJson(body);
    if (!matches(Request, request))
      return fail("BODY_INVALID", { reason: "it must contain a token and an authenticator" });
    const { token, authenticator } = request as { token: string; authenticator: object };
    const open = this.#take(token);
    let activity: { activityId: string; result: unknown };
    try {
      activity = await this.#makePasskey(open, authenticator, head);
    } catch (error) {
      // No passkey was created, so the link may be used again while it is valid.
      if (open.until >= this.#clock()) this.#open = open;
      throw error;
    }
    if (activity.result !== undefined) return { organizationId: open.organizationId };
    const reason = `the passkey is added once the activity ${activity.activityId} has the approvals or credentials that it needs`;
    return fail("FIRST_VISIT_REFUSED", { reason });
  }

  /** Takes the link out of use, so that no other request can use it at the same time. */
  #take(token: string): Open {
    const open = this.#open;
    if (!open)
      return fail("FIRST_VISIT_REFUSED", {
        reason: "it has been used or has expired, or the server has been restarted",
      });
    if (!timingSafeEqual(open.digest, sha256(token))) {
      return fail("FIRST_VISIT_REFUSED", { reason: "it is not the link of the first start" });
    }
    this.#open = undefined;
    if (open.until < this.#clock()) {
      fail("FIRST_VISIT_REFUSED", { reason: `it expired after ${durationText(FIRST_VISIT_MS)}` });
    }
    return open;
  }

  #makePasskey({ key, organizationId, userId }: Open, authenticator: object, head: RequestHead) {
    const operation = activityAt(this.#engine.registry, "create_authenticators");
    const parameters = { userId, authenticators: [authenticator] };
    const { remoteAddress, isWanted } = head;
    return submitOwn(operation, { organizationId, parameters, now: this.#clock() }, (body) => {
      const text = JSON.stringify(body);
      const stamps = { "x-stamp": makeStamp(key, text) };
      const run = this.#engine.accept(operation, { stamps, remoteAddress, onPrincipal: () => {}, isWanted });
      return run(Buffer.from(text));
    });
  }
}

const linkFileIn = (dataDir: string): string => join(dataDir, "first-visit.link");

/**
 * Writes the link, while it is valid, to a file that only those who can read the credentials can read. Without a terminal, printed output ends
 * up in logs. Returns the file's path.
 */
export function leaveLink(dataDir: string, url: string): string {
  const file = linkFileIn(dataDir);
  writeFileDurably(file, `${url}\n`, 0o600);
  const remove = () => removeOldLink(dataDir);
  setTimeout(remove, FIRST_VISIT_MS).unref();
  process.once("exit", remove);
  return file;
}

/**
 * Removes a link that has expired or that a killed server left. It no longer works, so errors, such as on a disk that cannot be written, are
 * ignored: they must not end a server that can still read, or disturb its shutdown.
 */
export function removeOldLink(dataDir: string): void {
  try {
    rmSync(linkFileIn(dataDir), { force: true });
  } catch {}
}

interface Open {
  digest: Uint8Array;
  /** Milliseconds. */
  until: number;
  organizationId: string;
  userId: string;
  key: StampingKey;
}

const TOKEN_BYTES = 32;
const sha256 = (text: string): Uint8Array => createHash("sha256").update(text).digest();
const Request = Type.Object({ token: Type.String({ maxLength: 100 }), authenticator: Type.Object({}) });

const LOOPBACK = ["127.0.0.0/8", "::1/128"].map((text) => parseCidr(text) as Cidr);
const LOOPBACK_HOST = /^(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?$/;

/** Accepts requests only from this machine, and not through a proxy on it, from a page of another site, or under another name (DNS rebinding). */
function refuseElsewhere({ remoteAddress = "", headers }: RequestHead): void {
  const address = parseIpAddress(remoteAddress);
  const isNear = address !== undefined && LOOPBACK.some((cidr) => isWithin(address, cidr));
  const isPassedOn = headers["x-forwarded-for"] !== undefined || headers.forwarded !== undefined;
  const { host = "", origin } = headers;
  const isOurs = LOOPBACK_HOST.test(host) && (origin === undefined || origin === `http://${host}`);
  if (isNear && !isPassedOn && isOurs) return;
  fail("FIRST_VISIT_REFUSED", { reason: "it works only on the server's machine, at http://localhost" });
}
