import { capability } from "./capability.ts";
import { pruneJobLanes } from "./jobs/prune-lanes.ts";
import { archiveKey } from "./keys/archive-key.ts";
import { bundleKey } from "./keys/bundle-envelopes.ts";
import { pruneImportKeys } from "./keys/import-keys.ts";
import { bootKey, pruneBootProofs } from "./proofs/boot-proofs.ts";

const RECORD = "what was done in the organization, and by whom, stays for its parent to read";

/** What the engine itself brings along, in the words of a capability. */
export const engineManifest = capability({
  title: "Engine",
  operations: [],
  jobs: [pruneJobLanes, pruneImportKeys, pruneBootProofs],
  serviceKeys: [bundleKey, bootKey, archiveKey],
  erases: ["import_keys"],
  keeps: {
    activities: RECORD,
    votes: RECORD,
    authentications: RECORD,
    revocations: RECORD,
    policy_evaluations: RECORD,
    policy_lists: RECORD,
    app_proofs: RECORD,
  },
});
