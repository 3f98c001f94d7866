import { featuresAtFirst } from "../../authority/rules/features.ts";
import type { Draft } from "../../authority/view.ts";
import { parseOrigins } from "../../crypto/webauthn-data.ts";
import { fillAuthority } from "../../engine/authority/project.ts";
import { rootIdOf } from "../../engine/identity/organizations.ts";
import type { Organization } from "../../engine/operations.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { type Feature, shownFeatures } from "./model.ts";

export interface NewOrganization {
  id: string;
  name: string;
  parentId: string | null;
  sealedKey: Uint8Array;
  now: number;
  /** Features of its kind that it starts without. */
  without?: readonly string[];
}

/** Adds an organization; `fill` gives it users and a root quorum. */
export async function addOrganization(
  tx: Transactor,
  organization: NewOrganization,
  fill: (draft: Draft) => void,
): Promise<void> {
  const { id, name, parentId, sealedKey, now, without = [] } = organization;
  await tx
    .insertInto("organizations")
    .values({
      id,
      name,
      parent_id: parentId,
      sealed_key: sealedKey,
      quorum_threshold: 1,
      created_at: now,
      updated_at: now,
    })
    .execute();
  const features = featuresAtFirst(parentId)
    .filter((feature) => !without.includes(feature))
    .map((feature) => ({ name: feature, value: null }));
  await fillAuthority(tx, id, (draft) => {
    if (features.length > 0) draft.apply({ do: "setFeatures", features });
    fill(draft);
  });
}

export async function findFeatures(read: Reader, organizationId: string): Promise<Feature[]> {
  const features = await read
    .selectFrom("organization_features")
    .select(["name", "value"])
    .where("organization_id", "=", organizationId)
    .orderBy("name")
    .execute();
  return shownFeatures(features);
}

/** The origins that passkeys of this organization may be used from, undefined for any; a parent's rule for all below it. */
export async function findAllowedOrigins(read: Reader, organization: Organization): Promise<string[] | undefined> {
  const feature = await read
    .selectFrom("organization_features")
    .select("value")
    .where("organization_id", "=", rootIdOf(organization))
    .where("name", "=", "FEATURE_NAME_WEBAUTHN_ORIGINS")
    .executeTakeFirst();
  return feature && (parseOrigins(feature.value ?? "") ?? []);
}
