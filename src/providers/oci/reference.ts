/** The location of an image, in the syntax of `docker pull`: `[registry/]repository[:tag][@digest]`. */
export interface ImageReference {
  /** The host, with a port if there is one. */
  registry: string;
  repository: string;
  tag: string | undefined;
  /** `sha256:` and 64 hex digits. */
  digest: string | undefined;
}

export const MAX_IMAGE_REFERENCE_LENGTH = 512;

const HOST =
  /^(?:(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*|\[[0-9a-f:]+\])(?::[0-9]{1,5})?$/i;
const PART = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*$/;
const TAG = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

/** References without a registry are on Docker Hub. Names of one part are in its own library. */
const DOCKER_HUB = "registry-1.docker.io";

/** The parts of a reference, or a problem that follows its name. */
export function parseImageReference(text: string): ImageReference | { problem: string } {
  if (text.length > MAX_IMAGE_REFERENCE_LENGTH)
    return { problem: `is longer than ${MAX_IMAGE_REFERENCE_LENGTH} characters` };
  if (/^[a-z]+:\/\//i.test(text))
    return { problem: "is a URL; leave the scheme out, as in registry.example.com/app:1" };
  const [named = "", digest, ...more] = text.split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) {
    return { problem: "has a digest that is not `sha256:` and 64 lowercase hex digits" };
  }
  const slash = named.indexOf("/");
  const first = slash < 0 ? "" : named.slice(0, slash);
  const hasRegistry = /[.:[]/.test(first) || first === "localhost";
  const registry = hasRegistry ? first : DOCKER_HUB;
  // Ports above 65535 and invalid IP addresses match the pattern too.
  if (!HOST.test(registry) || !URL.canParse(`https://${registry}`))
    return { problem: "has a registry that is not a host with an optional port" };
  const { path, tag } = withoutTag(hasRegistry ? named.slice(slash + 1) : named);
  if (tag !== undefined && !TAG.test(tag))
    return { problem: "has a tag that is not 1 to 128 letters, digits, dots, dashes" };
  if (!path.split("/").every((part) => PART.test(part))) {
    return { problem: "has no repository of lowercase letters and digits, such as registry.example.com/team/app" };
  }
  const repository = !hasRegistry && !path.includes("/") ? `library/${path}` : path;
  return { registry: registry === "docker.io" ? DOCKER_HUB : registry, repository, tag, digest };
}

function withoutTag(named: string): { path: string; tag: string | undefined } {
  const colon = named.indexOf(":");
  return colon < 0 ? { path: named, tag: undefined } : { path: named.slice(0, colon), tag: named.slice(colon + 1) };
}
