import { createOutboundClient, type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import { MAX_AUDIT_ANSWER_BYTES } from "../../kernel/limits.ts";
import { createNodeClient } from "../../nodes/node-client.ts";
import { isOfPrivateNetwork } from "../operator-url.ts";
import type { HttpsSettings } from "./settings.ts";
import { type Sink, SinkFailure } from "./sink.ts";

/** Sends lines by POST, one JSON object per line. Any success status means that all of them were accepted. */
export class HttpsSink implements Sink {
  readonly #settings: HttpsSettings;
  readonly #client: OutboundClient;

  constructor(settings: HttpsSettings) {
    this.#settings = settings;
    this.#client = clientFor(settings);
  }

  async deliver(lines: readonly string[], timeoutMs: number): Promise<void> {
    const { url, token } = this.#settings;
    const status = await this.#post(url, token, lines, timeoutMs);
    if (status >= 200 && status < 300) return;
    throw new SinkFailure(`answered HTTP ${status}`);
  }

  async #post(url: string, token: string | undefined, lines: readonly string[], timeoutMs: number): Promise<number> {
    try {
      const { status } = await this.#client.request({
        method: "POST",
        url,
        headers: {
          "content-type": "application/x-ndjson",
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: lines.map((line) => `${line}\n`).join(""),
        timeoutMs,
        maxResponseBytes: MAX_AUDIT_ANSWER_BYTES,
      });
      return status;
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      throw new SinkFailure(`cannot be reached: ${error.message}`, { cause: error });
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** A sink on a private network needs the client that may reach private addresses; others are called by the guarded client. */
export const clientFor = ({ url }: Pick<HttpsSettings, "url">): OutboundClient =>
  isOfPrivateNetwork(url) ? createNodeClient() : createOutboundClient({ allowPrivateNetworks: false });
