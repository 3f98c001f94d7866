import { type KeyObject, verify, X509Certificate } from "node:crypto";
import { type Static, Type } from "typebox";
import { Compile } from "typebox/compile";
import { type OutboundClient, OutboundError } from "../../../delivery/outbound.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { MINUTE_MS } from "../../../kernel/durations.ts";
import { fail } from "../../../kernel/errors.ts";
import { parseJson } from "../../../kernel/json.ts";
import { MAX_SNS_MESSAGE_AGE_MS, MAX_SNS_MESSAGE_BYTES } from "../../../kernel/limits.ts";
import { recentlyUsed } from "../../../kernel/recently-used.ts";
import { TokenBuckets } from "../../../kernel/token-buckets.ts";

/** Reads and verifies messages of Amazon SNS, received over HTTPS. */

const common = {
  MessageId: Type.String({ minLength: 1, maxLength: 128 }),
  TopicArn: Type.String({ minLength: 1, maxLength: 512 }),
  Message: Type.String(),
  Timestamp: Type.String({ minLength: 1, maxLength: 64 }),
  SignatureVersion: Type.Union([Type.Literal("1"), Type.Literal("2")]),
  Signature: Type.String({ minLength: 1, maxLength: 2048 }),
  SigningCertURL: Type.String({ minLength: 1, maxLength: 2048 }),
};
const Notification = Type.Object({
  ...common,
  Type: Type.Literal("Notification"),
  Subject: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const Confirmation = Type.Object({
  ...common,
  Type: Type.Union([Type.Literal("SubscriptionConfirmation"), Type.Literal("UnsubscribeConfirmation")]),
  Token: Type.String({ minLength: 1, maxLength: 4096 }),
  SubscribeURL: Type.String({ minLength: 1, maxLength: 2048 }),
});
const SnsMessage = Type.Union([Notification, Confirmation]);
export type SnsMessage = Static<typeof SnsMessage>;
const snsMessage = Compile(SnsMessage);

/** The signed members, in this order (AWS, "Verifying the signatures of Amazon SNS messages"). */
const SIGNED = {
  Notification: ["Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"],
  SubscriptionConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
  UnsubscribeConfirmation: ["Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"],
} as const;

const AMAZON_HOST = /^sns\.([a-z0-9-]+)\.amazonaws\.com$/;
const CERTIFICATE_PATH = /^\/SimpleNotificationService-[0-9a-f]{32}\.pem$/;
const MAX_CLOCK_AHEAD_MS = 5 * MINUTE_MS;
const MAX_CERTIFICATE_BYTES = 16 * 1024;
const FETCH_TIMEOUT_MS = 10_000;
/** Enough for topics of a few regions, each with its current and its next certificate. */
const MAX_CERTIFICATES = 16;
/** Any sender can make the server fetch a certificate, so fetches are limited. */
const FETCHES = { perSecond: 1 / 6, burst: 10 };

export interface SnsOptions {
  topicArns: readonly string[];
  /** Additional hosts with their ports, besides Amazon's. They may use plain http. */
  certificateHosts: readonly string[];
  outbound: Pick<OutboundClient, "request">;
  clock: Clock;
}

export interface Sns {
  /**
   * Reads a message and verifies that SNS sent it recently for one of the topics. If the topic, time or URLs are wrong, nothing is fetched.
   *
   * @throws KeysteadError BODY_INVALID, BODY_TOO_LARGE, INGEST_REFUSED, or INGEST_UNAVAILABLE while the certificate is not available
   */
  read(body: Buffer): Promise<SnsMessage>;
  /** Confirms a subscription with the link in a message from `read`. */
  confirm(message: SnsMessage): Promise<void>;
}

export function createSns({ topicArns, certificateHosts, outbound, clock }: SnsOptions): Sns {
  const certificates = recentlyUsed<Promise<X509Certificate>>({ entries: MAX_CERTIFICATES });
  const fetches = new TokenBuckets(FETCHES, 1, () => performance.now());

  /** Fetches a certificate once. A failed fetch is retried. */
  function certificateAt(url: string): Promise<X509Certificate> {
    const known = certificates.get(url);
    if (known !== undefined) return known;
    // Checked first, so that a refused fetch cannot evict a cached certificate.
    const isTooMany = fetches.take("certificates", 1) > 0;
    if (isTooMany) fail("INGEST_UNAVAILABLE", { reason: "too many certificates were asked for lately" });
    const certificate = get(url).then(certificateOf);
    certificates.set(url, certificate);
    certificate.catch(() => certificates.forget(url));
    return certificate;
  }

  async function get(url: string): Promise<Buffer> {
    const request = {
      method: "GET",
      url,
      timeoutMs: FETCH_TIMEOUT_MS,
      maxResponseBytes: MAX_CERTIFICATE_BYTES,
    } as const;
    try {
      const { status, body, truncated } = await outbound.request(request);
      if (status === 200 && !truncated) return body;
      return fail("INGEST_UNAVAILABLE", { reason: `the service behind the message answers with status ${status}` });
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error;
      return fail("INGEST_UNAVAILABLE", { reason: `the service behind the message cannot be reached: ${error.kind}` });
    }
  }

  /** The URL, if it is SNS's own in the topic's region. */
  function checkedUrl(text: string, { TopicArn }: SnsMessage, what: string): URL {
    const url = URL.parse(text);
    if (url !== null && url.username === "" && url.password === "" && url.hash === "") {
      if (certificateHosts.includes(url.host) && ["https:", "http:"].includes(url.protocol)) return url;
      const region = AMAZON_HOST.exec(url.hostname)?.[1];
      const isAmazon = url.protocol === "https:" && url.port === "" && region === TopicArn.split(":")[3];
      if (isAmazon && (what !== "SigningCertURL" || CERTIFICATE_PATH.test(url.pathname))) return url;
    }
    return refuse(`its ${what} is not one of Amazon SNS`);
  }

  return {
    async read(body) {
      if (body.length > MAX_SNS_MESSAGE_BYTES) fail("BODY_TOO_LARGE", { maxBytes: MAX_SNS_MESSAGE_BYTES });
      const message = parseJson(body);
      if (!snsMessage.Check(message)) return fail("BODY_INVALID", { reason: "it is not a message of Amazon SNS" });
      if (!topicArns.includes(message.TopicArn)) refuse("its topic is not one of this server's");
      refuseUntimely(message.Timestamp, clock());
      const certificateUrl = checkedUrl(message.SigningCertURL, message, "SigningCertURL");
      if ("SubscribeURL" in message) checkedUrl(message.SubscribeURL, message, "SubscribeURL");
      const certificate = await certificateAt(certificateUrl.href);
      if (!isValidAt(certificate, clock())) refuse("its certificate is not valid now");
      if (!isSigned(message, certificate.publicKey)) refuse("its signature does not match");
      return message;
    },
    async confirm(message) {
      if (message.Type !== "SubscriptionConfirmation") return;
      await get(checkedUrl(message.SubscribeURL, message, "SubscribeURL").href);
    },
  };
}

const refuse = (reason: string): never => fail("INGEST_REFUSED", { reason });

function refuseUntimely(timestamp: string, now: number): void {
  const age = now - Date.parse(timestamp);
  if (Number.isNaN(age)) refuse("its time cannot be read");
  if (age > MAX_SNS_MESSAGE_AGE_MS) refuse("it is older than an hour");
  if (age < -MAX_CLOCK_AHEAD_MS) refuse("its time is ahead of this server's clock");
}

function certificateOf(pem: Buffer): X509Certificate {
  const certificate = readCertificate(pem);
  if (certificate?.publicKey.asymmetricKeyType === "rsa") return certificate;
  return refuse("its certificate cannot be read");
}

function readCertificate(pem: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

const isValidAt = ({ validFromDate, validToDate }: X509Certificate, now: number): boolean =>
  validFromDate.getTime() <= now && now <= validToDate.getTime();

function isSigned(message: SnsMessage, key: KeyObject): boolean {
  const values = message as unknown as Record<string, string | null | undefined>;
  const lines = SIGNED[message.Type].filter((name) => values[name] != null).map((name) => `${name}\n${values[name]}\n`);
  const algorithm = message.SignatureVersion === "1" ? "sha1" : "sha256";
  return verify(algorithm, Buffer.from(lines.join("")), key, Buffer.from(message.Signature, "base64"));
}
