import { type OutboundClient, OutboundError } from "../../delivery/outbound.ts";
import { DOCTOR_STEP_MS, MAX_STATUS_BYTES } from "../../kernel/limits.ts";
import type { Config } from "../config.ts";
import { readAddress } from "../credentials-file.ts";
import { isOfPrivateNetwork } from "../operator-url.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const CHECK = "public URL";

/** Calls the service at its public URL, as clients do. If no server runs here, it may not answer. */
export async function checkPublicUrl(config: Config, outbound: OutboundClient): Promise<Finding> {
  const { publicUrl, dataDir, host, port } = config;
  if (publicUrl === undefined) return ok(CHECK, "KEYSTEAD_PUBLIC_URL is not set");
  const problem = await problemAt(publicUrl, outbound);
  if (problem === undefined) {
    if (publicUrl.startsWith("https:") || isOfPrivateNetwork(publicUrl)) return ok(CHECK, "it leads to Keystead");
    return warn(CHECK, "it leads to Keystead, but over plain HTTP; let a proxy terminate TLS, and set an https URL");
  }
  const local = readAddress(dataDir) ?? `http://${host}:${port}`;
  const isRunning = (await problemAt(local, outbound)) === undefined;
  const text = `${problem}; check KEYSTEAD_PUBLIC_URL, the name in DNS, and the proxy in front of the server`;
  return isRunning ? fail(CHECK, text) : warn(CHECK, `no server runs here, and ${text}`);
}

async function problemAt(baseUrl: string, outbound: OutboundClient): Promise<string | undefined> {
  try {
    const { status, body } = await outbound.request({
      method: "GET",
      url: `${baseUrl}/.well-known/keystead.json`,
      timeoutMs: DOCTOR_STEP_MS,
      maxResponseBytes: MAX_STATUS_BYTES,
    });
    return status === 200 && isKeystead(body.toString())
      ? undefined
      : `something other than Keystead answers there (HTTP ${status})`;
  } catch (error) {
    if (error instanceof OutboundError) return `it cannot be reached: ${error.message}`;
    throw error;
  }
}

function isKeystead(text: string): boolean {
  try {
    return (JSON.parse(text) as { service?: unknown } | null)?.service === "keystead";
  } catch {
    return false;
  }
}
