import { Type } from "typebox";
import { NONCE_SLOT } from "../../chains/evm/gas-station.ts";
import { evmChains } from "../../chains/evm/networks.ts";
import { query } from "../../engine/declare.ts";
import { Id, OneOf } from "../../engine/fields.ts";
import { pendingNonce, storageAt } from "../../nodes/evm-state.ts";
import { listInTurn } from "../sending/store.ts";
import { EvmAddress } from "./model.ts";

export const getNonces = query({
  path: "get_nonces",
  summary: "Get the nonces of an address on an Ethereum chain: those that are requested, or `nonce` if none are.",
  needs: ["evm"],
  request: Type.Object({
    organizationId: Id,
    address: EvmAddress,
    caip2: OneOf(evmChains),
    nonce: Type.Optional(Type.Boolean()),
    gasStationNonce: Type.Optional(Type.Boolean()),
  }),
  response: Type.Object(
    { nonce: Type.Optional(Type.String()), gasStationNonce: Type.Optional(Type.String()) },
    { minProperties: 1, additionalProperties: false },
  ),
  async run({ request: { address, caip2, nonce = false, gasStationNonce = false }, organization, evm }) {
    await evm.requireChain(caip2);
    return listInTurn(organization, async () => ({
      ...(nonce || !gasStationNonce ? { nonce: String(await pendingNonce(evm, caip2, address)) } : {}),
      ...(gasStationNonce ? { gasStationNonce: String(await storageAt(evm, caip2, address, NONCE_SLOT)) } : {}),
    }));
  },
});
