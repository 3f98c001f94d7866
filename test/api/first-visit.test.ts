import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { FIRST_VISIT_MS } from "../../src/kernel/limits.ts";
import { createAuthenticator } from "../support/authenticator.ts";
import { authenticatorParams, type Json } from "../support/client.ts";
import { ensureConsole } from "../support/console.ts";
import { post } from "../support/post.ts";
import { startTestServer, type TestServer } from "../support/server.ts";

/** The link of the first start, as somebody without a browser would use and misuse it. */
describe("the link of the first start", () => {
  let now = Date.now();
  let server: TestServer;
  let port: string;
  let token: string;
  before(async () => {
    await ensureConsole();
    server = await startTestServer("sqlite", { clock: () => now });
    ({ port } = new URL(server.baseUrl));
    [, token = ""] = /\/#\/welcome\/([A-Za-z0-9_-]{43})$/.exec(server.firstVisitUrl as string) ?? [];
  });
  after(() => server.close());

  const passkey = () =>
    authenticatorParams({
      authenticator: createAuthenticator(),
      origin: `http://localhost:${port}`,
      rpId: "localhost",
    });

  async function send(body: object, headers: Record<string, string> = {}): Promise<{ status: number; body: Json }> {
    const given = { host: `localhost:${port}`, "content-type": "application/json", ...headers };
    const { status, text } = await post(`${server.baseUrl}/console/first-visit`, JSON.stringify(body), given);
    return { status, body: JSON.parse(text) };
  }

  const passkeys = async (): Promise<number> => {
    const { user } = await server.root.read("get_user", { userId: server.credentials.userId });
    return user.authenticators.length;
  };

  async function assertRefused(sent: Promise<{ status: number; body: Json }>, reason: RegExp): Promise<void> {
    const { status, body } = await sent;
    assert.equal(status, 403, JSON.stringify(body));
    assert.match(body.message, reason);
    assert.equal(await passkeys(), 0);
  }

  it("is refused with another token, and from anywhere but the page on this machine", async () => {
    await assertRefused(send({ token: "A".repeat(43), authenticator: passkey() }), /not the link/);
    const ours = { token, authenticator: passkey() };
    const elsewhere = [
      { host: "keystead.example" },
      { host: `rebound.example:${port}` },
      { origin: "http://evil.example" },
      { origin: `http://localhost:${Number(port) + 1}` },
      { "x-forwarded-for": "192.0.2.1" },
      { forwarded: "for=192.0.2.1" },
    ];
    for (const headers of elsewhere) await assertRefused(send(ours, headers as never), /only on the server's machine/);
  });

  it("stays good after a passkey that was none", async () => {
    const { status } = await send({ token, authenticator: { ...passkey(), challenge: "AAAA" } });
    assert.equal(status, 400);
    assert.equal((await send({ token })).status, 400);
    assert.equal(await passkeys(), 0);
  });

  it("is refused when its time is over", async () => {
    const began = now;
    now = began + FIRST_VISIT_MS + 1;
    const late = await send({ token, authenticator: passkey() });
    now = began;
    assert.equal(late.status, 403);
    assert.match(late.body.message, /expired after 15 minutes/);
    assert.equal(await passkeys(), 0);
  });

  it("makes one passkey by an activity of the root user", async () => {
    const other = await startTestServer("sqlite");
    try {
      const [, first = ""] = /welcome\/(.+)$/.exec(other.firstVisitUrl as string) ?? [];
      const { host } = new URL(other.baseUrl);
      const use = () =>
        fetch(`${other.baseUrl}/console/first-visit`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: `http://${host}` },
          body: JSON.stringify({
            token: first,
            authenticator: authenticatorParams({
              authenticator: createAuthenticator(),
              origin: `http://${host}`,
              rpId: "localhost",
            }),
          }),
        });
      const answers = await Promise.all([use(), use(), use()]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403, 403]);
      const { activities } = await other.root.read("list_activities");
      assert.deepEqual(
        activities.map(({ type, votes }: Json) => [type, votes[0].publicKey]),
        [["ACTIVITY_TYPE_CREATE_AUTHENTICATORS_V2", other.credentials.apiKey.publicKey]],
      );
    } finally {
      await other.close();
    }
  });

  it("says that the passkey waits where its key alone cannot add it", async () => {
    const other = await startTestServer("sqlite");
    try {
      const [, first = ""] = /welcome\/(.+)$/.exec(other.firstVisitUrl as string) ?? [];
      const { host } = new URL(other.baseUrl);
      const { userId } = other.credentials;
      const newPasskey = () =>
        authenticatorParams({ authenticator: createAuthenticator(), origin: `http://${host}`, rpId: "localhost" });
      await other.root.result("create_authenticators", { userId, authenticators: [newPasskey()] });
      await other.root.result("create_mfa_policy", {
        userId,
        mfaPolicyName: "A passkey too",
        condition: "true",
        requiredAuthenticationMethods: [{ any: [{ type: "AUTHENTICATION_TYPE_PASSKEY" }] }],
        order: 1,
      });
      const answer = await fetch(`${other.baseUrl}/console/first-visit`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: `http://${host}` },
        body: JSON.stringify({ token: first, authenticator: newPasskey() }),
      });
      const { message } = (await answer.json()) as Json;
      assert.equal(answer.status, 403, message);
      const [, activityId] = /the activity ([0-9a-f-]{36})/.exec(message) ?? [];
      const { activity } = await other.root.read("get_activity", { activityId });
      assert.equal(activity.status, "ACTIVITY_STATUS_AUTHENTICATORS_NEEDED");
      const { user } = await other.root.read("get_user", { userId });
      assert.equal(user.authenticators.length, 1);
    } finally {
      await other.close();
    }
  });

  it("is not printed where others reach the server, or there is no console", async () => {
    for (const settings of [{ KEYSTEAD_PUBLIC_URL: "https://keystead.example" }, { KEYSTEAD_CONSOLE: "false" }]) {
      const other = await startTestServer("sqlite", { settings });
      try {
        assert.equal(other.firstVisitUrl, undefined);
        assert.equal((await fetch(`${other.baseUrl}/console/first-visit`, { method: "POST" })).status, 404);
      } finally {
        await other.close();
      }
    }
  });
});
