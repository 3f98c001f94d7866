import { promises as dns } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { isPublicAddress } from "./addresses.ts";
import { OutboundError } from "./outbound-error.ts";
import type { OutboundPolicy } from "./url-rules.ts";

/** Resolves a host name to all its addresses, or to none. Throws DNS errors. */
export type Resolver = (hostname: string) => Promise<{ address: string; family: number }[]>;

/** Resolves A and AAAA records with name servers. */
export interface NameServerResolver {
  resolve: Resolver;
  /** Ends open queries with an error. */
  cancel(): void;
}

const QUERY_TIMEOUT_MS = 2000;
const QUERY_TRIES = 2;
const NO_RECORDS = ["ENODATA", "ENOTFOUND"];

/**
 * Queries `servers` directly, by default those of the system. The operating system's resolver would occupy a thread of the pool that also
 * verifies signatures, for as long as a receiver's name server takes. It would also read the hosts file and append search domains, which
 * only lead to internal names.
 */
export function createNameServerResolver(servers?: readonly string[]): NameServerResolver {
  const queries = new dns.Resolver({ timeout: QUERY_TIMEOUT_MS, tries: QUERY_TRIES });
  if (servers !== undefined) queries.setServers(servers);
  return {
    async resolve(hostname) {
      const [ipv4, ipv6] = await Promise.all([
        recordsOf(queries.resolve4(hostname)),
        recordsOf(queries.resolve6(hostname)),
      ]);
      const answers = [
        ...ipv4.addresses.map((address) => ({ address, family: 4 })),
        ...ipv6.addresses.map((address) => ({ address, family: 6 })),
      ];
      const failure = ipv4.failure ?? ipv6.failure;
      if (answers.length === 0 && failure !== undefined) throw failure;
      return answers;
    },
    cancel: () => queries.cancel(),
  };
}

async function recordsOf(query: Promise<string[]>): Promise<{ addresses: string[]; failure?: unknown }> {
  try {
    return { addresses: await query };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : "";
    return NO_RECORDS.includes(code) ? { addresses: [] } : { addresses: [], failure: error };
  }
}

/** The operating system's resolver, for development. It knows `localhost` and the hosts file. */
export const resolveBySystem: Resolver = (hostname) => dns.lookup(hostname, { all: true, order: "ipv4first" });

/**
 * A `lookup` for `net.connect` that resolves a name once and returns exactly the addresses it has checked, so that the name is not resolved
 * again between the check and the connection. If one of the addresses is not public, all are refused.
 *
 * Fails with OutboundError "dns" or "blocked".
 */
export function createGuardedLookup(resolver: Resolver, policy: OutboundPolicy): LookupFunction {
  return (hostname, options, callback) => {
    // Asynchronous like every lookup, because the new socket has no listeners yet.
    checkedAddresses(hostname, resolver, policy).then(
      (answers) => {
        const [first] = answers;
        if (options.all) setImmediate(callback, null, answers);
        else setImmediate(callback, null, first.address, first.family);
      },
      (error: OutboundError) => setImmediate(callback, error, []),
    );
  };
}

type Answer = { address: string; family: number };

async function checkedAddresses(
  hostname: string,
  resolver: Resolver,
  policy: OutboundPolicy,
): Promise<[Answer, ...Answer[]]> {
  const answers = await Promise.resolve(hostname)
    .then(resolver)
    .catch((error: unknown) => {
      throw new OutboundError("dns", "the host name could not be resolved", error);
    });
  const [first, ...rest] = answers.map(({ address }) => ({ address, family: isIP(address) }));
  if (first === undefined) throw new OutboundError("dns", "the host name has no address");
  const checked: [Answer, ...Answer[]] = [first, ...rest];
  if (checked.some(({ family }) => family === 0)) throw new OutboundError("dns", "the host name could not be resolved");
  if (!policy.allowPrivateNetworks && !checked.every(({ address }) => isPublicAddress(address))) {
    throw new OutboundError("blocked", "the host name has an address that is not public");
  }
  return checked;
}
