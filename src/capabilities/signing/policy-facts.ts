import { parseAuthorization } from "../../chains/evm/authorization.ts";
import { parseTypedData, standardDomain, type TypedData } from "../../chains/evm/typed-data.ts";
import type { PolicyFactsContext } from "../../engine/declare.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import type { Eip712Facts } from "../../policy/facts.ts";
import type { RawSigning } from "./sign.ts";
import { signingKeyFacts } from "./store.ts";

/** What policies see of a request to sign: the key, and what the payload says where its encoding has a meaning. */
export async function signingFacts(
  { read, organization }: Omit<PolicyFactsContext<unknown>, "intent">,
  signing: RawSigning,
): Promise<PolicyFacts> {
  const eth = ethereumFacts(signing);
  return { ...(await signingKeyFacts(read, organization.id, signing.signWith)), ...(eth ? { eth } : {}) };
}

function ethereumFacts({ payloads, encoding, fieldOf }: RawSigning): PolicyFacts["eth"] {
  const [payload] = payloads;
  // Several payloads have no one meaning; a policy that asks for it ends in an error and allows nothing.
  if (payload === undefined || payloads.length > 1) return undefined;
  if (encoding === "PAYLOAD_ENCODING_EIP712") return { eip_712: typedDataFacts(parseTypedData(payload, fieldOf(0))) };
  if (encoding === "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION") {
    const { address, chainId, nonce } = parseAuthorization(payload, fieldOf(0));
    return { eip_7702_authorization: { address, chain_id: chainId, nonce } };
  }
  return undefined;
}

/** A member of the message is what the payload declares it to be, as the contract must declare it too for the hash to be the same. */
function typedDataFacts(data: TypedData): Eip712Facts {
  const { name, version, chainId, verifyingContract } = standardDomain(data);
  return {
    primary_type: data.primaryType,
    domain: { name, version, chain_id: chainId, verifying_contract: verifyingContract },
    message: data.message,
  };
}
