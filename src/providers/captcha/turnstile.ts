import { parseJsonObject } from "../../crypto/json-object.ts";
import { boundedTurns } from "../../delivery/bounded-turns.ts";
import { type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import { failForNow } from "../../kernel/errors.ts";
import {
  CAPTCHA_TIMEOUT_MS,
  MAX_CAPTCHA_ANSWER_BYTES,
  MAX_CAPTCHAS,
  MAX_CAPTCHAS_OF_ONE_ORGANIZATION,
  MAX_WAITING_CAPTCHAS,
} from "../../kernel/limits.ts";
import type { Logger } from "../../kernel/log.ts";

/** Verifies captchas of Cloudflare Turnstile. */

export interface Captcha {
  /** The key for pages that show the captcha. Undefined if this server has none. */
  siteKey: string | undefined;
  /**
   * Whether the token is valid. Each token works once. While the provider does not answer, everybody passes, because people must be able to
   * get in. Too many verifications on this server are no such outage, or a flood could switch captchas off.
   *
   * @throws KeysteadError RATE_LIMITED if too many of the organization wait
   */
  verify(token: string, asked: { organizationId: string; remoteAddress: string | undefined }): Promise<boolean>;
}

export interface TurnstileSettings {
  /** The URL of `siteverify`, or an origin with the usual path to it. */
  url: string;
  siteKey: string;
  secret: string;
}

const PATH = "/turnstile/v0/siteverify";

/** For a server without captchas. */
export const noCaptcha: Captcha = { siteKey: undefined, verify: async () => true };

export function createTurnstile(
  { url, siteKey, secret }: TurnstileSettings,
  outbound: Pick<OutboundClient, "request">,
  log: Logger,
): Captcha {
  const endpoint = new URL(url).pathname === "/" ? new URL(PATH, url).href : url;
  const inTurn = boundedTurns(
    {
      perKey: MAX_CAPTCHAS_OF_ONE_ORGANIZATION,
      total: MAX_CAPTCHAS,
      inside: MAX_WAITING_CAPTCHAS,
      waitMs: CAPTCHA_TIMEOUT_MS,
    },
    refuseExcess,
  );

  async function ask(token: string, remoteAddress: string | undefined): Promise<boolean> {
    const remoteip = remoteAddress === undefined ? {} : { remoteip: remoteAddress };
    const { status, body, truncated } = await outbound.request({
      method: "POST",
      url: endpoint,
      headers: { "content-type": "application/x-www-form-urlencoded", accept: "application/json" },
      body: new URLSearchParams({ secret, response: token, ...remoteip }).toString(),
      timeoutMs: CAPTCHA_TIMEOUT_MS,
      maxResponseBytes: MAX_CAPTCHA_ANSWER_BYTES,
    });
    if (status >= 500 || truncated) throw new NoAnswer(`it answered with the status ${status}`);
    const { success, "error-codes": codes } = parseJsonObject(body, () => {
      throw new NoAnswer("it answered with something that is not JSON");
    });
    const faults = faultsOfOurs(codes);
    if (faults.length > 0) log.error({ faults }, "the captcha provider rejects this server's requests; nobody passes");
    return success === true;
  }

  return {
    siteKey,
    async verify(token, { organizationId, remoteAddress }) {
      try {
        return await inTurn(organizationId, () => ask(token, remoteAddress));
      } catch (error) {
        if (!(error instanceof NoAnswer) && !(error instanceof OutboundError)) throw error;
        if (error instanceof OutboundError && error.waitedFor === "queue") return refuseExcess();
        const reason = error.message;
        if (error instanceof OutboundError && (error.kind === "url" || error.kind === "blocked")) {
          log.error({ reason }, "the captcha provider may not be called; nobody passes");
          return false;
        }
        log.warn({ reason }, "the captcha provider does not answer; everybody passes");
        return true;
      }
    },
  };
}

class NoAnswer extends Error {}

const refuseExcess = (): never =>
  failForNow("RATE_LIMITED", { reason: "too many captchas are being verified" }, CAPTCHA_TIMEOUT_MS / 1000);

/** Errors about the token itself. All others are problems between the provider and this server. */
const FAULTS_OF_TOKENS = ["missing-input-response", "invalid-input-response", "timeout-or-duplicate"];

const faultsOfOurs = (codes: unknown): string[] =>
  (Array.isArray(codes) ? codes : []).filter(
    (code) => typeof code === "string" && /^[a-z-]{1,40}$/.test(code) && !FAULTS_OF_TOKENS.includes(code),
  );
