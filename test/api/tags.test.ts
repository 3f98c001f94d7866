import assert from "node:assert/strict";
import { it } from "node:test";
import { newId } from "../../src/kernel/ids.ts";
import { addUser, type Client } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";

const createKey = async (root: Client, name: string): Promise<string> => {
  const params = { privateKeyName: name, curve: "CURVE_SECP256K1", privateKeyTags: [], addressFormats: [] };
  const { privateKeys } = await root.result("create_private_keys", { privateKeys: [params] });
  return privateKeys[0].privateKeyId;
};

onEachEngine("tags", (server) => {
  it("attach to private keys, are renamed, moved and deleted", async () => {
    const { root } = server();
    const [first, second] = [await createKey(root, "first"), await createKey(root, "second")];
    const created = await root.result("create_private_key_tag", { privateKeyTagName: "hot", privateKeyIds: [first] });
    assert.deepEqual(created.privateKeyIds, [first]);
    const { privateKeyTagId } = created;

    const update = {
      privateKeyTagId,
      newPrivateKeyTagName: "cold",
      addPrivateKeyIds: [second],
      removePrivateKeyIds: [first],
    };
    assert.deepEqual(await root.result("update_private_key_tag", update), { privateKeyTagId });
    const tagsOf = async (privateKeyId: string) =>
      (await root.read("get_private_key", { privateKeyId })).privateKey.privateKeyTags;
    assert.deepEqual(await tagsOf(first), []);
    assert.deepEqual(await tagsOf(second), [privateKeyTagId]);
    const { privateKeyTags } = await root.read("list_private_key_tags");
    const tag = privateKeyTags.find(({ tagId }: { tagId: string }) => tagId === privateKeyTagId);
    assert.equal(tag.tagName, "cold");
    assert.equal(tag.tagType, "TAG_TYPE_PRIVATE_KEY");

    const deleted = await root.result("delete_private_key_tags", { privateKeyTagIds: [privateKeyTagId] });
    assert.deepEqual(deleted, { privateKeyTagIds: [privateKeyTagId], privateKeyIds: [second] });
    assert.deepEqual(await tagsOf(second), []);
  });

  it("attach to users and show at once", async () => {
    const { root } = server();
    const { userId } = await addUser(root);
    const { userTagId, userIds } = await root.result("create_user_tag", { userTagName: "ops", userIds: [userId] });
    assert.deepEqual(userIds, [userId]);
    const tagsOf = async () => (await root.read("get_user", { userId })).user.userTags;
    assert.deepEqual(await tagsOf(), [userTagId]);
    await root.result("update_user_tag", { userTagId, addUserIds: [], removeUserIds: [userId] });
    assert.deepEqual(await tagsOf(), []);
    await root.result("update_user", { userId, userTagIds: [userTagId] });
    assert.deepEqual(await tagsOf(), [userTagId]);
    const deleted = await root.result("delete_user_tags", { userTagIds: [userTagId] });
    assert.deepEqual(deleted, { userTagIds: [userTagId], userIds: [userId] });
    assert.deepEqual(await tagsOf(), []);
  });

  it("change as a whole or not at all: one unknown id and nothing moves", async () => {
    const { root } = server();
    const key = await createKey(root, "kept");
    const tag = { privateKeyTagName: "before", privateKeyIds: [key] };
    const { privateKeyTagId } = await root.result("create_private_key_tag", tag);
    const unknown = newId();
    for (const change of [
      { addPrivateKeyIds: [unknown], removePrivateKeyIds: [key] },
      { addPrivateKeyIds: [], removePrivateKeyIds: [key, unknown] },
    ]) {
      const update = { privateKeyTagId, newPrivateKeyTagName: "after", ...change };
      const answer = await root.submit("update_private_key_tag", update);
      assert.equal(answer.status, 404);
      assert.match(answer.body.message, new RegExp(`unable to find private key ${unknown}`));
      const { privateKeyTags } = await root.read("list_private_key_tags");
      const names = privateKeyTags.map(({ tagName }: { tagName: string }) => tagName);
      assert.ok(names.includes("before") && !names.includes("after"));
      const { privateKey } = await root.read("get_private_key", { privateKeyId: key });
      assert.deepEqual(privateKey.privateKeyTags, [privateKeyTagId]);
    }
  });

  it("of one kind are not found as the other", async () => {
    const { root } = server();
    const { userTagId } = await root.result("create_user_tag", { userTagName: "people", userIds: [] });
    const update = { privateKeyTagId: userTagId, addPrivateKeyIds: [], removePrivateKeyIds: [] };
    assert.equal((await root.submit("update_private_key_tag", update)).status, 404);
    const key = { privateKeyName: "k", curve: "CURVE_P256", privateKeyTags: [userTagId], addressFormats: [] };
    assert.equal((await root.submit("create_private_keys", { privateKeys: [key] })).status, 404);
  });

  it("are limited", async () => {
    const { root } = server();
    const existing = (await root.read("list_user_tags")).userTags.length;
    for (let count = existing; count < 100; count++) {
      await root.result("create_user_tag", { userTagName: `tag ${count}`, userIds: [] });
    }
    const answer = await root.submit("create_user_tag", { userTagName: "one too many", userIds: [] });
    assert.equal(answer.status, 429);
    assert.equal((await root.read("list_user_tags")).userTags.length, 100);
  });
});
