import { createNameServerResolver, type Resolver } from "../delivery/names.ts";
import { createOutboundClient, type OutboundClient } from "../delivery/outbound.ts";

/**
 * The guarded client for nodes, apart from the one for what organizations name: an operator's own node is mostly on a private
 * address, and whoever names hosts here may reach them anyway. Names are asked of name servers, as everywhere; `localhost`,
 * which they do not know, is this machine.
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
