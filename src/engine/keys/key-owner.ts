import type { Organization } from "../operations.ts";

/** An organization as the signer is told of it. */
export const keyOwnerOf = ({ id, sealedKey }: Pick<Organization, "id" | "sealedKey">) => ({
  organizationId: id,
  organizationKey: Buffer.from(sealedKey).toString("base64"),
});
