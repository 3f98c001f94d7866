import { Type } from "typebox";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { TvcQuorumKey } from "./model.ts";
import { findQuorumKeys, renderQuorumKey } from "./quorum-keys.ts";

/** The approximate size of a share in a response: three ids and an envelope in hex. */
const SHOWN_SHARE_BYTES = 512;

export const listTvcQuorumKeys = query({
  path: "list_tvc_quorum_keys",
  summary:
    "List the quorum keys that the organization created, the newest first, with the encrypted share of each operator.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({ tvcQuorumKeys: Type.Array(TvcQuorumKey) }),
  async run({ read, organization, takeRoom }) {
    const { count } = await read
      .selectFrom("tvc_quorum_key_shares")
      .select((eb) => eb.fn.countAll<number>().as("count"))
      .where("organization_id", "=", organization.id)
      .executeTakeFirstOrThrow();
    await takeRoom(SHOWN_SHARE_BYTES * count);
    return { tvcQuorumKeys: (await findQuorumKeys(read, organization.id)).map(renderQuorumKey) };
  },
});
