import { parseJsonOr } from "../../crypto/json-object.ts";
import type { RegistryCredential } from "../../crypto/registry-credential.ts";
import type { Responses } from "../protocol.ts";

/** Docker Hub's names in Docker configurations. */
const DOCKER_HUB = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);
const HUB = "registry-1.docker.io";
/** Text that is safe in a header: it contains no line break. */
const TEXT = /^[\x20-\x7e\u00a0-\uffff]{1,8192}$/;
const TOKEN = /^[\x21-\x7e]{1,16384}$/;

/**
 * The entry for one registry in a Docker configuration: `{"auths": {"<registry>": {"auth": "<base64 of user:password>"}}}`. Instead of
 * `auth` there may be `username` and `password`, or `registrytoken`.
 */
export function pullCredential(configuration: Uint8Array, registry: string): Responses["openPullSecret"] {
  const { auths } = objectIn(parseJsonOr(configuration, () => undefined));
  if (typeof auths !== "object" || auths === null || Array.isArray(auths)) return { problem: "malformed" };
  const found = Object.entries(auths).find(([named]) => hostOf(named) === hostOf(registry));
  if (!found) return { problem: "otherRegistry" };
  const credential = credentialIn(objectIn(found[1]));
  return credential ? { credential } : { problem: "malformed" };
}

function credentialIn({
  auth,
  username,
  password,
  registrytoken,
}: Record<string, unknown>): RegistryCredential | undefined {
  if (typeof registrytoken === "string" && registrytoken !== "") {
    return TOKEN.test(registrytoken) ? { token: registrytoken } : undefined;
  }
  if (typeof auth === "string" && auth !== "") {
    const [, name = "", secret = ""] = /^([^:]*):(.*)$/s.exec(Buffer.from(auth, "base64").toString()) ?? [];
    return pairOf(name, secret);
  }
  return typeof username === "string" && typeof password === "string" ? pairOf(username, password) : undefined;
}

const pairOf = (username: string, password: string): RegistryCredential | undefined =>
  TEXT.test(username) && TEXT.test(password) && !username.includes(":") ? { username, password } : undefined;

/** Docker names registries by host, or by URL in older configurations. */
function hostOf(named: string): string {
  const [host = ""] = named
    .replace(/^https?:\/\//i, "")
    .toLowerCase()
    .split("/");
  return DOCKER_HUB.has(host) ? HUB : host;
}

const objectIn = (value: unknown): Record<string, unknown> =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
