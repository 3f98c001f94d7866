import { Type } from "typebox";
import { findRootQuorum } from "../../engine/authority/root-quorum.ts";
import { query } from "../../engine/declare.ts";
import { Id } from "../../engine/fields.ts";
import { User } from "../../engine/identity/user-schemas.ts";
import { loadUsers } from "../../engine/identity/users.ts";
import { PrivateKey } from "../private-keys/model.ts";
import { findPrivateKeys } from "../private-keys/store.ts";
import { Tag } from "../tags/model.ts";
import { findTags, privateKeyTags, userTags } from "../tags/store.ts";
import { Feature, RootQuorum } from "./model.ts";
import { findFeatures } from "./store.ts";

export const getOrganization = query({
  path: "get_organization",
  summary: "Get the organization with its users, private keys, tags, features and root quorum.",
  request: Type.Object({ organizationId: Id }),
  response: Type.Object({
    organizationData: Type.Object({
      organizationId: Type.Optional(Type.String()),
      name: Type.Optional(Type.String()),
      users: Type.Optional(Type.Array(User)),
      privateKeys: Type.Optional(Type.Array(PrivateKey)),
      tags: Type.Optional(Type.Array(Tag)),
      rootQuorum: Type.Optional(RootQuorum),
      features: Type.Optional(Type.Array(Feature)),
    }),
  }),
  async run({ read, organization: { id, name } }) {
    return {
      organizationData: {
        organizationId: id,
        name,
        users: await loadUsers(read, id),
        privateKeys: await findPrivateKeys(read, id),
        tags: [...(await findTags(read, id, userTags)), ...(await findTags(read, id, privateKeyTags))],
        rootQuorum: await findRootQuorum(read, id),
        features: await findFeatures(read, id),
      },
    };
  },
});
