import { createOutboundClient, type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import { MAX_AUDIT_ANSWER_BYTES } from "../../kernel/limits.ts";
import { createNodeClient } from "../../nodes/node-client.ts";
import { isOfPrivateNetwork } from "../operator-url.ts";
import type { HttpsSettings } from "./settings.ts";
import { type Sink, SinkFailure } from "./sink.ts";

/** Sends lines by POST, one JSON object to a line; any status of success says that all of them were taken. */
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
      throw new SinkFailure(`is not reached: ${error.message}`, { cause: error });
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** One on the operator's own network is asked by the client that may reach it, any other by the guarded one. */
export const clientFor = ({ url }: Pick<HttpsSettings, "url">): OutboundClient =>
  isOfPrivateNetwork(url) ? createNodeClient() : createOutboundClient({ allowPrivateNetworks: false });
