import { featuresAtFirst } from "../../authority/rules/features.ts";
import type { Draft } from "../../authority/view.ts";
import { fillAuthority } from "../../engine/authority/project.ts";
import type { Reader, Transactor } from "../../storage/engine.ts";
import { type Feature, shownFeatures } from "./model.ts";

export interface NewOrganization {
  id: string;
  name: string;
  parentId: string | null;
  sealedKey: Uint8Array;
  now: number;
  /** Default features that it starts without. */
  without?: readonly string[];
}

/** Adds an organization. `fill` adds its users and root quorum. */
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
