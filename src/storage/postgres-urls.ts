/** The servers named by one URL, such as `postgres://user@one:5432,two:5432/keys?target_session_attrs=read-write`. */
export interface NamedHosts {
  /** One URL per server, without the parameters that the driver does not know. */
  urls: readonly [string, ...string[]];
  /** Whether only a server that accepts writes is suitable. */
  needsPrimary: boolean;
}

const MAX_HOSTS = 8;
const PARTS =
  /^(?<scheme>postgres(?:ql)?:\/\/)(?<login>[^/?#]*@)?(?<hosts>[^/?#]*)(?<path>[^?#]*)(?:\?(?<query>.*))?$/s;
const ATTRIBUTE = "target_session_attrs=";
const TLS = "sslmode=";
/** The driver treats any other value as `verify-full`; somebody who set libpq's `allow` would look for the problem elsewhere. */
const TLS_MODES = ["verify-full", "verify-ca", "require", "prefer", "no-verify", "disable"];

/** @throws Error that explains the problem without repeating the URL, which may contain a password */
export function hostsIn(url: string): NamedHosts {
  const { scheme, login = "", hosts = "", path, query = "" } = PARTS.exec(url)?.groups ?? {};
  if (scheme === undefined) throw new Error("must be like postgres://user@host/database");
  const names = hosts.split(",");
  if (names.length > MAX_HOSTS) throw new Error(`names more than ${MAX_HOSTS} hosts`);
  if (names.length > 1 && names.includes("")) throw new Error("has an empty host name between its commas");
  const parameters = query.split("&").filter((parameter) => parameter !== "");
  const last = (name: string) => parameters.findLast((parameter) => parameter.startsWith(name))?.slice(name.length);
  const wanted = last(ATTRIBUTE);
  if (wanted !== undefined && !["any", "read-write", "primary"].includes(wanted)) {
    throw new Error(`asks for a server that cannot be used: ${ATTRIBUTE} must be read-write, primary or any`);
  }
  const tls = last(TLS);
  if (tls !== undefined && !TLS_MODES.includes(tls)) {
    throw new Error(`has an unknown sslmode: ${TLS} must be one of ${TLS_MODES.join(", ")}`);
  }
  const others = parameters.filter((parameter) => !parameter.startsWith(ATTRIBUTE));
  const tail = `${path}${others.length === 0 ? "" : `?${others.join("&")}`}`;
  const [first = "", ...rest] = names.map((name) => `${scheme}${login}${name}${tail}`);
  // Of several servers, at most one accepts writes.
  return { urls: [first, ...rest], needsPrimary: wanted === undefined ? rest.length > 0 : wanted !== "any" };
}

/** What is wrong with a PostgreSQL URL, if anything. */
export function hostsProblem(url: string): string | undefined {
  try {
    for (const one of hostsIn(url).urls) if (!URL.canParse(one)) return "cannot be read";
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
