import { createNameServerResolver, type Resolver } from "../delivery/names.ts";
import { createOutboundClient, type OutboundClient } from "../delivery/outbound.ts";

/**
 * The HTTP client for nodes. It is separate from the client for hosts that organizations name: an operator's own node usually has a private
 * address, and the operator, who names the hosts here, can reach them anyway. Names are resolved by name servers, as everywhere.
 * `localhost`, which they do not know, is this machine.
 */
export function createNodeClient(): OutboundClient {
  const names = createNameServerResolver();
  const resolver: Resolver = async (hostname) =>
    hostname === "localhost" ? [{ address: "127.0.0.1", family: 4 }] : names.resolve(hostname);
  const client = createOutboundClient({ allowPrivateNetworks: true, resolver });
  return {
    request: client.request,
    async close() {
      await client.close();
      names.cancel();
    },
  };
}
