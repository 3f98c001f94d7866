import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createOutboundClient, type OutboundClient } from "../../src/delivery/outbound.ts";
import { createTwilioSms } from "../../src/providers/sms/http-sms.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";

describe("text messages by Twilio", () => {
  let twilio: Receiver;
  let outbound: OutboundClient;
  before(async () => {
    twilio = await startReceiver();
    outbound = createOutboundClient({ allowPrivateNetworks: true });
  });
  after(async () => {
    await outbound.close();
    await twilio.close();
  });
  const send = (from: string, url = twilio.url) =>
    createTwilioSms(outbound, { url, accountSid: "AC0123", authToken: "secret-token", from }).send({
      id: "1",
      to: "+14155550123",
      text: "Code: 1&2",
    });

  it("are posted as its API has it", async () => {
    twilio.answer(201);
    assert.deepEqual(await send("+14155550100"), { result: "accepted" });
    const { path, headers, body } = twilio.received.at(-1) as Receiver["received"][number];
    assert.equal(path, "/2010-04-01/Accounts/AC0123/Messages.json");
    assert.equal(headers.authorization, `Basic ${Buffer.from("AC0123:secret-token").toString("base64")}`);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(body)), {
      To: "+14155550123",
      From: "+14155550100",
      Body: "Code: 1&2",
    });
    await send("MG0123");
    const { body: byService } = twilio.received.at(-1) as Receiver["received"][number];
    assert.equal(new URLSearchParams(byService).get("MessagingServiceSid"), "MG0123");
  });

  it("are refused for good, or wait", async () => {
    for (const [status, result] of [
      [400, "refused"],
      [422, "refused"],
      [401, "deferred"],
      [429, "deferred"],
      [302, "deferred"],
      [500, "deferred"],
    ] as const) {
      twilio.answer(status);
      const outcome = await send("+14155550100");
      assert.equal(outcome.result, result, String(status));
      assert.ok(!JSON.stringify(outcome).includes("secret-token"));
    }
    const closed = await startReceiver();
    await closed.close();
    assert.equal((await send("+14155550100", closed.url)).result, "deferred");
  });
});
