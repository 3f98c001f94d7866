import type { OnlyFor } from "../../src/authority/callers.ts";
import { draftRootOrganization, storeRootOrganization } from "../../src/main/first-organization.ts";
import { addUser, apiKeyParams, Client, generateApiKey } from "./client.ts";
import type { TestServer } from "./server.ts";

export interface Member {
  userId: string;
  client: Client;
}

/** One organization of its own, as a fresh server has it, and whom examples need in it. */
export interface World {
  server: TestServer;
  organizationId: string;
  /** Of the parent, where this is a sub-organization. */
  parent?: Member;
  /** Reads the organization even after it was deleted: the parent's root user, or its own. */
  reader: Client;
  /**
   * The root user, who alone is the root quorum until `quorumOfTwo`. Where an operation takes a credential of its own, the example
   * has this client stamp with one.
   */
  root: Member;
  /** A plain user: whom examples that concern a user are about. */
  user: Member;
  /** Makes the root user and a second one the root quorum, both needed; resolves to the second. */
  quorumOfTwo(): Promise<Member>;
}

/** A world of the kind that an operation is for; a parent unless said. */
export async function createWorld(server: TestServer, kind: OnlyFor = "parents"): Promise<World> {
  const parent = await createParent(server);
  if (kind === "parents") return worldOf(server, parent, { reader: parent.client });
  const root = await addSubOrganization(parent.client);
  const reader = parent.client.with({ organizationId: root.client.organizationId });
  return worldOf(server, root, { reader, parent });
}

async function createParent(server: TestServer): Promise<Member> {
  const { opened, baseUrl } = server;
  const options = { baseUrl, organizationName: "World", userName: "Root user" };
  const draft = draftRootOrganization(options);
  const { organizationId, userId } = draft;
  const { organizationKey } = await opened.signer.ask({ verb: "createOrganizationKey", organizationId });
  await opened.database.transact(organizationId, (tx) =>
    storeRootOrganization(tx, draft, organizationKey, { now: Date.now() }),
  );
  const { publicKey, privateKey } = draft.apiKey;
  return { userId, client: new Client(baseUrl, organizationId, { publicKey, privateKey: privateKey as string }) };
}

/** Adds a sub-organization with one root user; resolves to that user. */
export async function addSubOrganization(parent: Client, more: object = {}): Promise<Member> {
  const key = generateApiKey();
  const rootUser = { userName: "Root user", apiKeys: [apiKeyParams(key)], authenticators: [], oauthProviders: [] };
  const { subOrganizationId, rootUserIds } = await parent.result("create_sub_organization", {
    subOrganizationName: "Sub-organization",
    rootUsers: [rootUser],
    rootQuorumThreshold: 1,
    ...more,
  });
  return { userId: rootUserIds[0], client: parent.with({ key, organizationId: subOrganizationId }) };
}

async function worldOf(
  server: TestServer,
  root: Member,
  more: Pick<World, "reader"> & { parent?: Member },
): Promise<World> {
  const { client, userId } = root;
  let second: Promise<Member> | undefined;
  return {
    ...more,
    server,
    organizationId: client.organizationId,
    root,
    user: await addUser(client),
    quorumOfTwo: () => {
      second ??= addSecondMember(client, userId);
      return second;
    },
  };
}

async function addSecondMember(root: Client, rootUserId: string): Promise<Member> {
  const second = await addUser(root, "Second member");
  await root.result("update_root_quorum", { threshold: 2, userIds: [rootUserId, second.userId] });
  return second;
}
