import { IDENTITY_PATH_FORM, sparkAccount } from "../../crypto/spark/keys.ts";
import type { PolicyFactsContext } from "../../engine/declare.ts";
import { keyOwnerOf } from "../../engine/keys/key-owner.ts";
import type { PolicyFacts } from "../../engine/operations.ts";
import { fail } from "../../kernel/errors.ts";
import type { Reader } from "../../storage/engine.ts";
import { findSigningKey, type SigningKey, signingKeyFacts } from "../signing/store.ts";

/**
 * The identity key of the Spark wallet that `signWith` names by its address.
 *
 * @throws KeysteadError SIGNING_RESOURCE_NOT_FOUND, FIELD_INVALID
 */
export async function findSparkWallet(read: Reader, organizationId: string, signWith: string): Promise<SigningKey> {
  const key = await findSigningKey(read, organizationId, signWith);
  const { reference, address } = key;
  const isIdentity = reference.kind === "walletAccount" && sparkAccount(reference.path) !== undefined;
  if (isIdentity && address?.format.startsWith("ADDRESS_FORMAT_SPARK_")) return key;
  const reason = `must be the Spark address of a wallet account at ${IDENTITY_PATH_FORM}`;
  return fail("FIELD_INVALID", { field: "parameters.signWith", reason });
}

/** The facts that policies see about the wallet. They see the request itself as `activity.params`. */
export const sparkFacts = ({
  read,
  organization,
  intent,
}: PolicyFactsContext<{ signWith: string }>): Promise<PolicyFacts> =>
  signingKeyFacts(read, organization.id, intent.signWith);

/** The members common to all requests to the signer. */
export const askedWith = (organization: { id: string; sealedKey: Uint8Array }, { reference }: SigningKey) => ({
  ...keyOwnerOf(organization),
  key: reference,
});

/** The packages as the API returns them, in hex, with the recipient of each. */
export const operatorPackages = (
  { operatorRecipients }: { operatorRecipients: readonly { operatorId: string }[] },
  packages: readonly string[],
): { operatorId: string; encryptedPackage: string }[] =>
  operatorRecipients.map(({ operatorId }, at) => ({
    operatorId,
    encryptedPackage: Buffer.from(
      packages[at] ?? fail("SIGNER_UNAVAILABLE", { reason: "a package is missing" }),
      "base64",
    ).toString("hex"),
  }));
