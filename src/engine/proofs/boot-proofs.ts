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
 * Which code an ephemeral key belongs to. At each start of a signer its own description is signed with a lasting key of the
 * installation and kept, so that what the signer proves can be checked long after its end.
 */

/** How long a server takes it for granted that the row of its signer is still there. */
const RECHECK_MS = HOUR_MS;
/** A signer that was not seen for so long, and has proved nothing that is kept, is forgotten. */
const KEPT_MS = 30 * DAY_MS;

/** The key that boot proofs are signed with. One that was retired stays published for as long as anybody keeps proofs. */
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

/** The signer of each database's server, as it was last found. */
const remembered = new WeakMap<Database, Remembered>();

/** The boot proof of the signer with this key, or undefined if another runs by now. */
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

/** Stores the boot proof of the signer that runs now, if it is not there yet. */
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

/** A signed text stands in its document as a string, so that nobody needs to spell it again to check it. */
const signed = (name: string, text: string, { id, publicKey }: ServiceKey, signature: Buffer): string =>
  canonicalJson({ [name]: text, keyId: id, publicKey, signature: signature.toString("hex") });

export const findBootProof = prepared<{ ephemeralPublicKey: string }>()((db, { ephemeralPublicKey }) =>
  db.selectFrom("boot_proofs").selectAll().where("ephemeral_public_key", "=", ephemeralPublicKey),
);

export const findLatestBootProof = prepared<Record<string, never>>()((db) =>
  db.selectFrom("boot_proofs").selectAll().orderBy("started_at", "desc").orderBy("id", "desc").limit(1),
);

/** Forgets signers that are long gone and have proved nothing; the last one stays. */
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
