import { draftRootOrganization, storeRootOrganization } from "../../src/main/first-organization.ts";
import { addUser, Client } from "./client.ts";
import type { TestServer } from "./server.ts";

export interface Member {
  userId: string;
  client: Client;
}

/** One organization of its own, as a fresh server has it, and whom examples need in it. */
export interface World {
  server: TestServer;
  organizationId: string;
  /** The root user, who alone is the root quorum until `quorumOfTwo`. */
  root: Member;
  /** A plain user: whom examples that concern a user are about. */
  user: Member;
  /** Makes the root user and a second one the root quorum, both needed; resolves to the second. */
  quorumOfTwo(): Promise<Member>;
}

export async function createWorld(server: TestServer): Promise<World> {
  const { opened, baseUrl } = server;
  const options = { baseUrl, organizationName: "World", userName: "Root user" };
  const draft = draftRootOrganization(options);
  const { organizationId, userId } = draft;
  const { organizationKey } = await opened.signer.ask({ verb: "createOrganizationKey", organizationId });
  await opened.database.transact(organizationId, (tx) =>
    storeRootOrganization(tx, draft, organizationKey, { now: Date.now() }),
  );
  const { publicKey, privateKey } = draft.apiKey;
  const client = new Client(baseUrl, organizationId, { publicKey, privateKey: privateKey as string });
  let second: Promise<Member> | undefined;
  return {
    server,
    organizationId,
    root: { userId, client },
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
