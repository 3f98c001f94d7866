import assert from "node:assert/strict";
import { it } from "node:test";
import { findActivity } from "../../src/engine/activities/rows.ts";
import { verifyStamps } from "../../src/engine/activities/verify-stamps.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { addUser, authenticatorParams, type Json } from "../support/client.ts";
import { onEachEngine } from "../support/server.ts";
import { createWorld } from "../support/world.ts";

onEachEngine("the stamps of an activity", (server) => {
  const recordedOf = async (organizationId: string, activityId: string) => {
    const { read } = server().opened.database;
    const activity = await findActivity(read, organizationId, activityId);
    assert.ok(activity);
    return verifyStamps(read, activity);
  };

  /** An activity that a key submitted and a passkey approved. */
  async function approved(): Promise<{ organizationId: string; activity: Json }> {
    const { root } = await createWorld(server());
    const { client, userId } = root;
    const passkey = { authenticator: createAuthenticator(), origin: "https://app.example.com", rpId: "example.com" };
    const second = await addUser(client, "Second");
    const authenticators = [authenticatorParams(passkey)];
    await client.result("create_authenticators", { userId: second.userId, authenticators });
    await client.result("update_root_quorum", { threshold: 2, userIds: [userId, second.userId] });
    const asked = (await client.submit("update_organization_name", { organizationName: "Ours" })).body.activity;
    assert.equal(asked.status, "ACTIVITY_STATUS_CONSENSUS_NEEDED");
    const voter = client.withPasskey(passkey);
    const { activity } = (await voter.submit("approve_activity", { fingerprint: asked.fingerprint })).body;
    assert.equal(activity.status, "ACTIVITY_STATUS_COMPLETED");
    return { organizationId: client.organizationId, activity };
  }

  it("verify again long after, those of passkeys too, by what is recorded alone", async () => {
    const { organizationId, activity } = await approved();
    const stamps = await recordedOf(organizationId, activity.id);
    assert.deepEqual(
      stamps.map(({ scheme, verdict }) => [scheme, verdict]),
      [
        ["SIGNATURE_SCHEME_TK_API_P256", "valid"],
        ["SIGNATURE_SCHEME_TK_WEBAUTHN", "valid"],
      ],
    );
  });

  it("show every row that was altered, and what earlier releases did not keep", async () => {
    const { organizationId, activity } = await approved();
    const { database } = server().opened;
    const alter = (set: { message?: string; assertion?: string | null }) =>
      database.transact(organizationId, (tx) =>
        tx
          .updateTable("votes")
          .set(set)
          .where("organization_id", "=", organizationId)
          .where("activity_id", "=", activity.id)
          .execute(),
      );
    const verdicts = async () => (await recordedOf(organizationId, activity.id)).map(({ verdict }) => verdict);
    await alter({ message: "{}" });
    assert.deepEqual(await verdicts(), ["invalid", "invalid"]);
    await alter({ assertion: null });
    assert.deepEqual(await verdicts(), ["invalid", "notVerifiable"]);
  });
});
