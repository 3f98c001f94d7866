import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { MAX_OPEN_INVITATIONS } from "../../src/kernel/limits.ts";
import type { Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld, type World } from "../support/world.ts";

onEachEngine("invitations", (server) => {
  const worldOf = () => createWorld(server());
  const invitation = ({ user }: World, more: object = {}): Json => ({
    receiverUserName: "Guest",
    receiverUserEmail: `guest-${newId()}@example.com`,
    receiverUserTags: [],
    accessType: "ACCESS_TYPE_WEB",
    senderUserId: user.userId,
    ...more,
  });
  const invite = ({ root }: World, ...invitations: Json[]) => root.client.submit("create_invitations", { invitations });
  /** The oldest first. */
  const open = async ({ root }: World): Promise<Json[]> => {
    const { invitations } = await root.client.read("list_invitations", { paginationOptions: { limit: "100" } });
    return invitations.filter(({ status }: Json) => status === "INVITATION_STATUS_CREATED").reverse();
  };

  it("are stored together and shown until they are revoked", async () => {
    const world = await worldOf();
    const { client } = world.root;
    const { userTagId } = await client.result("create_user_tag", { userTagName: "guests", userIds: [] });
    const two = [invitation(world, { receiverUserTags: [userTagId, userTagId] }), invitation(world)];
    const { invitationIds } = await client.result("create_invitations", { invitations: two });
    const shown = await open(world);
    assert.deepEqual(
      shown.map(({ createdAt: _, updatedAt: __, expiresAt: ___, status: ____, ...rest }) => rest),
      two.map((sent, index) => ({
        invitationId: invitationIds[index],
        ...sent,
        receiverUserTags: [...new Set(sent.receiverUserTags)],
      })),
    );
    const [invitationId] = invitationIds;
    assert.deepEqual(await client.result("delete_invitation", { invitationId }), { invitationId });
    assert.deepEqual(await open(world), [shown[1]]);
    assert.deepEqual(await statuses(world), ["CREATED", "REVOKED"]);
  });

  it("are revoked once, and only by their own organization", async () => {
    const world = await worldOf();
    const { invitationIds } = await world.root.client.result("create_invitations", {
      invitations: [invitation(world)],
    });
    const [invitationId] = invitationIds;
    const foreign = await worldOf();
    assert.equal((await foreign.root.client.submit("delete_invitation", { invitationId })).status, 404);
    await world.root.client.result("delete_invitation", { invitationId });
    const again = await world.root.client.submit("delete_invitation", { invitationId });
    assert.equal(again.status, 404);
    assert.match(again.body.message, /unable to find open invitation/);
  });

  it("are one at a time for an e-mail address, in whatever letters it is written", async () => {
    const world = await worldOf();
    const first = invitation(world, { receiverUserEmail: "Ada@Example.com" });
    const { body } = await invite(world, first);
    const other = invitation(world);
    const again = await invite(world, other, { ...first, receiverUserEmail: "ada@example.COM" });
    assert.equal(again.status, 409);
    assert.match(again.body.message, /`parameters\.invitations\.1\.receiverUserEmail` has an open invitation/);
    const twice = await invite(world, other, other);
    assert.equal(twice.status, 409);
    assert.equal((await open(world)).length, 1);
    const [invitationId] = body.activity.result.createInvitationsResult.invitationIds;
    await world.root.client.result("delete_invitation", { invitationId });
    assert.equal((await invite(world, first)).status, 200);
  });

  it("name a user and user tags of the organization", async () => {
    const world = await worldOf();
    const foreign = await worldOf();
    const { client } = world.root;
    const tag = { privateKeyTagName: "keys", privateKeyIds: [] };
    const { privateKeyTagId } = await client.result("create_private_key_tag", tag);
    for (const more of [
      { senderUserId: foreign.user.userId },
      { senderUserId: newId() },
      { receiverUserTags: [privateKeyTagId] },
    ]) {
      assert.equal((await invite(world, invitation(world), invitation(world, more))).status, 404, JSON.stringify(more));
    }
    assert.deepEqual(await open(world), []);
  });

  it("are open for a hundred at most", async () => {
    const world = await worldOf();
    const most = Array.from({ length: MAX_OPEN_INVITATIONS - 1 }, () => invitation(world));
    assert.equal((await invite(world, ...most)).status, 200);
    assert.equal((await invite(world, invitation(world), invitation(world))).status, 429);
    assert.equal((await invite(world, invitation(world))).status, 200);
    const beyond = await invite(world, invitation(world));
    assert.equal(beyond.status, 429);
    assert.match(beyond.body.message, /at most 100 open invitations/);
    const [{ invitationId }] = (await open(world)) as [Json];
    await world.root.client.result("delete_invitation", { invitationId });
    assert.equal((await invite(world, invitation(world))).status, 200);
  });

  it("outlive the tags and the user they name", async () => {
    const world = await worldOf();
    const { client } = world.root;
    const { userTagId } = await client.result("create_user_tag", { userTagName: "guests", userIds: [] });
    await invite(world, invitation(world, { receiverUserTags: [userTagId] }));
    await client.result("delete_user_tags", { userTagIds: [userTagId] });
    await client.result("delete_users", { userIds: [world.user.userId] });
    const [left] = (await open(world)) as [Json];
    assert.deepEqual([left.senderUserId, left.receiverUserTags], [world.user.userId, [userTagId]]);
  });

  async function statuses({ organizationId }: World): Promise<string[]> {
    const rows = await server()
      .opened.database.read.selectFrom("invitations")
      .select("status")
      .where("organization_id", "=", organizationId)
      .orderBy("status")
      .execute();
    return rows.map(({ status }) => status);
  }
});
