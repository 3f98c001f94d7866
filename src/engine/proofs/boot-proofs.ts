import { DAY_MS, HOUR_MS } from "../../kernel/durations.ts";
import { newId } from "../../kernel/ids.ts";
import { canonicalJson } from "../../kernel/json.ts";
import type { Signer } from "../../signer/client.ts";
import type { DescribeResponse } from "../../signer/protocol.ts";
import { ownText } from "../../signer/statements.ts";
import type { Database } from "../../storage/database.ts";
import { prepared } from "../../storage/prepared.ts";
import type { Schema } from "../../storage/schema.ts";
import { reconciler } from "../jobs/jobs.ts";
import {
  currentServiceKey,
  publishedCompressed,
  type ServiceKey,
  type ServiceKeyKind,
  signStatements,
} from "../keys/service-keys.ts";

/**
 * Boot proofs tell which code an ephemeral key belongs to. Whenever a signer starts, its description is signed with a lasting key of the
 * installation and stored, so that the signer's proofs can be verified long after it ended.
 */

/** How long a server assumes that the row of its signer still exists. */
const RECHECK_MS = HOUR_MS;
/** How long the boot proof of a signer is kept after it was last seen, if no stored proof refers to it. */
const KEPT_MS = 30 * DAY_MS;

/** The key that signs boot proofs. A retired key stays published forever, because proofs may be kept that long. */
export const bootKey: ServiceKeyKind = {
  purpose: "boot",
  curve: "CURVE_P256",
  publishedAfterRetirementMs: Number.MAX_SAFE_INTEGER,
  publish: (read, now) => publishedCompressed(read, bootKey, now),
};

export type BootProofRow = Schema["boot_proofs"];

type Store = { database: Database; signer: Pick<Signer, "ask"> };

interface Remembered {
  id: string;
  ephemeralPublicKey: string;
  seenAt: number;
}

/** The last known signer of the server of each database. */
const remembered = new WeakMap<Database, Remembered>();

/** The boot proof of the signer with this key, or undefined if another signer runs now. */
export async function bootProofIdOf(
  store: Store,
  ephemeralPublicKey: string,
  now: number,
): Promise<string | undefined> {
  const known = remembered.get(store.database);
  const isFresh = known !== undefined && now - known.seenAt < RECHECK_MS;
  const current = isFresh && known.ephemeralPublicKey === ephemeralPublicKey ? known : await recordBoot(store, now);
  return current.ephemeralPublicKey === ephemeralPublicKey ? current.id : undefined;
}

/** Stores the boot proof of the running signer, unless it is stored already. */
export async function recordBoot(store: Store, now: number): Promise<Remembered> {
  const { database, signer } = store;
  const description = await signer.ask({ verb: "describe" });
  const { ephemeralPublicKey } = description;
  const id = (await renew(database, ephemeralPublicKey, now)) ?? (await add(store, description, now));
  const found = { id, ephemeralPublicKey, seenAt: now };
  remembered.set(database, found);
  return found;
}

const renew = (database: Database, ephemeralPublicKey: string, now: number): Promise<string | undefined> =>
  database.transact("boot proofs", async (tx) => {
    const rows = await tx
      .updateTable("boot_proofs")
      .set({ seen_at: now })
      .where("ephemeral_public_key", "=", ephemeralPublicKey)
      .returning("id")
      .execute();
    return rows[0]?.id;
  });

async function add(store: Store, description: DescribeResponse, now: number): Promise<string> {
  const { database } = store;
  const key = await currentServiceKey(database.read, bootKey);
  const [manifest, attestation] = [ownText("manifest", description), ownText("boot", description)];
  const [ofManifest, ofAttestation] = await signStatements({ read: database.read, signer: store.signer }, key, [
    { says: "manifest" },
    { says: "boot" },
  ]);
  const row = {
    id: newId(),
    ephemeral_public_key: description.ephemeralPublicKey,
    manifest,
    manifest_envelope: signed("manifest", manifest, key, ofManifest as Buffer),
    attestation: signed("statement", attestation, key, ofAttestation as Buffer),
    deployment_label: `keystead-${description.version}`,
    started_at: description.startedAt,
    seen_at: now,
  };
  return database.transact("boot proofs", async (tx) => {
    const [stored] = await tx
      .insertInto("boot_proofs")
      .values(row)
      .onConflict((conflict) => conflict.column("ephemeral_public_key").doUpdateSet({ seen_at: now }))
      .returning("id")
      .execute();
    return stored?.id ?? row.id;
  });
}

/** The signed text is a string inside its document, so that verifiers need not serialize it again. */
const signed = (name: string, text: string, { id, publicKey }: ServiceKey, signature: Buffer): string =>
  canonicalJson({ [name]: text, keyId: id, publicKey, signature: signature.toString("hex") });

export const findBootProof = prepared<{ ephemeralPublicKey: string }>()((db, { ephemeralPublicKey }) =>
  db.selectFrom("boot_proofs").selectAll().where("ephemeral_public_key", "=", ephemeralPublicKey),
);

export const findLatestBootProof = prepared<Record<string, never>>()((db) =>
  db.selectFrom("boot_proofs").selectAll().orderBy("started_at", "desc").orderBy("id", "desc").limit(1),
);

/** Deletes the boot proofs of signers that ended long ago and that no stored proof refers to. The last one is kept. */
export const pruneBootProofs = reconciler({
  name: "prune_boot_proofs",
  everyMs: DAY_MS,
  async run({ database, clock }) {
    const [latest] = await findLatestBootProof(database.read, {});
    if (!latest) return;
    const before = clock() - KEPT_MS;
    await database.transact("boot proofs", (tx) =>
      tx
        .deleteFrom("boot_proofs")
        .where("seen_at", "<", before)
        .where("id", "!=", latest.id)
        .where((where) =>
          where.not(
            where.exists(
              where
                .selectFrom("app_proofs as a")
                .select("a.position")
                .whereRef("a.boot_proof_id", "=", "boot_proofs.id"),
            ),
          ),
        )
        .execute(),
    );
  },
});
