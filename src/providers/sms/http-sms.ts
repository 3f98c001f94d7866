import { type OutboundClient, OutboundError, type OutboundRequest } from "../../delivery/outbound.ts";
import type { SmsOutcome, SmsSender } from "./sms-sender.ts";

const TIMEOUT_MS = 15_000;
const MAX_ANSWER_BYTES = 16 * 1024;
/** Statuses below 500 that are temporary or about the settings, not about the message. */
const NOT_OF_THE_MESSAGE = [401, 402, 403, 404, 405, 408, 425, 429];

type Post = Pick<OutboundRequest, "url" | "headers" | "body">;

/** A gateway that accepts `{"to","message"}` in JSON. */
export const createGatewaySms = (outbound: Pick<OutboundClient, "request">, url: string): SmsSender => ({
  send: ({ to, text }) =>
    post(outbound, {
      url,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ to, message: text }),
    }),
});

export interface TwilioAccount {
  /** The URL of the API, such as `https://api.twilio.com`. */
  url: string;
  accountSid: string;
  authToken: string;
  /** A phone number, or the SID of a messaging service (`MG…`). */
  from: string;
}

/** Twilio's Messages API, version 2010-04-01. */
export const createTwilioSms = (outbound: Pick<OutboundClient, "request">, account: TwilioAccount): SmsSender => {
  const { url, accountSid, authToken, from } = account;
  const sender = from.startsWith("MG") ? { MessagingServiceSid: from } : { From: from };
  return {
    send: ({ to, text }) =>
      post(outbound, {
        url: `${url.replace(/\/+$/, "")}/2010-04-01/Accounts/${encodeURIComponent(accountSid)}/Messages.json`,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString("base64")}`,
        },
        body: new URLSearchParams({ To: to, ...sender, Body: text }).toString(),
      }),
  };
};

/** The answer's body is not read, because a gateway may repeat the message in it. */
async function post(outbound: Pick<OutboundClient, "request">, request: Post): Promise<SmsOutcome> {
  try {
    const { status } = await outbound.request({
      ...request,
      method: "POST",
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_ANSWER_BYTES,
    });
    if (status >= 200 && status < 300) return { result: "accepted" };
    const isFinal = status >= 400 && status < 500 && !NOT_OF_THE_MESSAGE.includes(status);
    return { result: isFinal ? "refused" : "deferred", reason: `the gateway answers with status ${status}` };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { result: "deferred", reason: `${error.kind}: ${error.message}` };
  }
}
