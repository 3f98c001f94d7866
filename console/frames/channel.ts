/** How a frame and the page around it speak: the messages of the published package `@turnkey/iframe-stamper`. */

/** What the page asks for. What it says is held against nothing yet. */
export interface FrameRequest {
  type: string;
  requestId: string;
  value?: unknown;
  organizationId?: unknown;
  userId?: unknown;
  keyFormat?: unknown;
}

/** By the type of the request; what one resolves to is told under the type beside it. */
export type Handlers = Readonly<
  Record<string, { answers: string; handle: (request: FrameRequest) => unknown | Promise<unknown> }>
>;

const OPENING = "TURNKEY_INIT_MESSAGE_CHANNEL";

interface Opening {
  type: string;
  dangerouslyOverrideIframeKeyTtl?: unknown;
}

/**
 * Waits for the page around this one to open a channel, tells it the frame's public key, and answers what it asks, for as long as it
 * lives. Who may be around it is for the policy under which the server sends the frame (`frame-ancestors`).
 *
 * @param open resolves to the frame's public key
 */
export function serveParent(open: (lifetimeMs: unknown) => string, handlers: Handlers): void {
  let isOpen = false;
  window.addEventListener("message", ({ source, data, ports: [port] }: MessageEvent<Opening | undefined>) => {
    if (isOpen || source !== window.parent || source === window || data?.type !== OPENING || !port) return;
    isOpen = true;
    port.onmessage = async ({ data: request }: MessageEvent<FrameRequest>) => {
      port.postMessage({ ...(await answerTo(handlers, request)), requestId: request.requestId });
    };
    port.postMessage({ type: "PUBLIC_KEY_READY", value: open(data.dangerouslyOverrideIframeKeyTtl) });
  });
}

async function answerTo(handlers: Handlers, request: FrameRequest): Promise<{ type: string; value: unknown }> {
  try {
    const handler = Object.hasOwn(handlers, request.type) ? handlers[request.type] : undefined;
    if (!handler) throw new Error(`this frame does not do ${request.type}`);
    return { type: handler.answers, value: await handler.handle(request) };
  } catch (error) {
    return { type: "ERROR", value: error instanceof Error ? error.message : String(error) };
  }
}

/** @throws Error naming what is missing */
export function textOf(request: FrameRequest, name: "value" | "organizationId" | "userId"): string {
  const text = request[name];
  if (typeof text !== "string" || text === "") throw new Error(`${request.type} lacks \`${name}\``);
  return text;
}

const KEY_FORMATS = ["HEXADECIMAL", "SOLANA"] as const;

/** The way in which a private key is written. @throws Error for one that these frames do not know */
export function keyFormatOf({ keyFormat = "HEXADECIMAL" }: FrameRequest): (typeof KEY_FORMATS)[number] {
  const known = KEY_FORMATS.find((format) => format === keyFormat);
  if (!known) throw new Error(`keyFormat must be one of ${KEY_FORMATS.join(", ")}`);
  return known;
}

/** Of `applySettings`. */
export interface Settings {
  styles?: object;
  passphraseStyles?: object;
  enablePassphrase?: unknown;
}

/** @throws SyntaxError */
export const settingsOf = (request: FrameRequest): Settings => JSON.parse(textOf(request, "value")) as Settings;
