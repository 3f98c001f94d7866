import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { ApiKeyStamper } from "@turnkey/api-key-stamper";
import { generateApiKey } from "../support/client.ts";
import { examplesIn, runExample } from "../support/guide.ts";
import { mailedToken } from "../support/outbox.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

/** The example of the guide, run as it stands there with the published stamper. */

const [accepting = ""] = examplesIn("invitations")("Accepting");

let server: TestServer;
before(async () => {
  server = await startTestServer("sqlite");
});
after(() => server.close());

it("makes the invited a user", async () => {
  const { baseUrl: service, credentials, root } = server;
  const invitation = {
    receiverUserName: "Ada",
    receiverUserEmail: "ada@example.com",
    receiverUserTags: [],
    accessType: "ACCESS_TYPE_ALL",
    senderUserId: credentials.userId,
  };
  await root.result("create_invitations", { invitations: [invitation] });
  const key = generateApiKey();
  const given = { service, key, ApiKeyStamper, token: await mailedToken(server, "ada@example.com") };
  const { userId } = await runExample(accepting, given, "userId");
  assert.equal((await root.with({ key }).read("whoami")).userId, userId);
});
