import { parseAuthorization } from "../../chains/evm/authorization.ts";
import { parseTypedData, standardDomain, type TypedData } from "../../chains/evm/typed-data.ts";
import type { PolicyFactsContext } from "../../engine/declare.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import { MissingFactError } from "../../policy/errors.ts";
import type { Eip712Facts } from "../../policy/facts.ts";
import type { RawSigning } from "./sign.ts";
import { signingKeyFacts } from "./store.ts";

/** The facts that policies see about a request to sign: the key, and the decoded payload if its encoding is a structured one. */
export async function signingFacts(
  { read, organization }: Omit<PolicyFactsContext<unknown>, "intent">,
  signing: RawSigning,
): Promise<PolicyFacts> {
  const eth = ethereumFacts(signing);
  return { ...(await signingKeyFacts(read, organization.id, signing.signWith)), ...(eth ? { eth } : {}) };
}

function ethereumFacts({ payloads, encoding, fieldOf }: RawSigning): PolicyFacts["eth"] {
  const [payload] = payloads;
  if (payload === undefined) return undefined;
  if (payloads.length > 1) return meaningOfSeveral(encoding);
  if (encoding === "PAYLOAD_ENCODING_EIP712") return { eip_712: typedDataFacts(parseTypedData(payload, fieldOf(0))) };
  if (encoding === "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION") {
    const { address, chainId, nonce } = parseAuthorization(payload, fieldOf(0));
    return { eip_7702_authorization: { address, chain_id: chainId, nonce } };
  }
  return undefined;
}

/** Several payloads have no single content. A policy that reads it fails: ALLOW policies then do not allow, and DENY policies deny. */
function meaningOfSeveral(encoding: RawSigning["encoding"]): PolicyFacts["eth"] {
  if (encoding === "PAYLOAD_ENCODING_EIP712") {
    return {
      get eip_712(): never {
        throw new MissingFactError(SEVERAL_PAYLOADS);
      },
    };
  }
  if (encoding === "PAYLOAD_ENCODING_EIP7702_AUTHORIZATION") {
    return {
      get eip_7702_authorization(): never {
        throw new MissingFactError(SEVERAL_PAYLOADS);
      },
    };
  }
  return undefined;
}

const SEVERAL_PAYLOADS = "the request has several payloads; send them one by one";

/** The message's types can be trusted as the payload declares them: the contract must declare the same types, or its hash would differ. */
function typedDataFacts(data: TypedData): Eip712Facts {
  const { name, version, chainId, verifyingContract } = standardDomain(data);
  return {
    primary_type: data.primaryType,
    domain: { name, version, chain_id: chainId, verifying_contract: verifyingContract },
    message: data.message,
  };
}
