import assert from "node:assert/strict";
import { it } from "node:test";
import type { Asker } from "../../src/signer/client.ts";
import type { Occasion } from "../../src/signer/protocol.ts";
import { addUser, type Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

onEachEngine("what the signer is told of an activity", (server) => {
  /** What the signer was told while `work` ran, by verb. */
  async function told(work: () => Promise<unknown>): Promise<{ verb: string; occasion: Occasion | undefined }[]> {
    const { signer } = server().opened;
    const seen: { verb: string; occasion: Occasion | undefined }[] = [];
    const ask = signer.ask;
    signer.ask = (request, asker: Asker = {}) => {
      seen.push({ verb: request.verb, occasion: asker.occasion });
      return ask.call(signer, request, asker) as never;
    };
    try {
      await work();
    } finally {
      signer.ask = ask;
    }
    return seen;
  }

  it("is its body and the stamp of who submitted it", async () => {
    const { root } = await createWorld(server());
    const parameters = {
      privateKeys: [{ privateKeyName: "k", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] }],
    };
    let activity: Json = {};
    const seen = await told(async () => {
      activity = (await root.client.submit("create_private_keys", parameters)).body.activity;
    });
    assert.deepEqual(
      seen.map(({ verb }) => verb),
      ["generateKeys"],
    );
    const occasion = seen[0]?.occasion as Occasion;
    assert.deepEqual(JSON.parse(occasion.body).parameters, parameters);
    assert.equal(JSON.parse(occasion.body).type, activity.type);
    const [vote] = activity.votes;
    const { publicKey, scheme, signature } = vote;
    assert.deepEqual(occasion.ballots, [{ userId: root.userId, publicKey, scheme, signature }]);
    assert.equal(vote.message, occasion.body);
  });

  it("is the first body with every approval, each with what was stamped, also where the submitter votes again", async () => {
    const { root } = await createWorld(server());
    const { client, userId } = root;
    const second = await addUser(client, "Second");
    const { client: voter } = second;
    const keys = [{ privateKeyName: "k", curve: "CURVE_P256", privateKeyTags: [], addressFormats: [] }];
    await client.result("update_root_quorum", { threshold: 2, userIds: [userId, second.userId] });
    const asked = (await client.submit("create_private_keys", { privateKeys: keys })).body.activity;
    assert.equal(asked.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    let activity: Json = {};
    const seen = await told(async () => {
      activity = (await voter.submit("approve_activity", { fingerprint: asked.fingerprint })).body.activity;
    });
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
    const occasion = seen[0]?.occasion as Occasion;
    assert.deepEqual(JSON.parse(occasion.body).parameters, { privateKeys: keys });
    assert.deepEqual(
      occasion.ballots.map(({ userId, message }) => [
        userId,
        message === undefined ? "the body" : JSON.parse(message).type,
      ]),
      [
        [userId, "the body"],
        [second.userId, "ACTIVITY_TYPE_APPROVE_ACTIVITY"],
      ],
    );
  });
});
