import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  generatePrimeSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { attribute, der, name, octets, oid, sequence, utcTime, utf8 } from "./der.ts";

/**
 * A chain of certificates that takes long to verify: each is signed with an RSA key whose public exponent is as long as its modulus, which OpenSSL
 * accepts up to 3,072 bits. Nobody trusts it, but a TLS client verifies every signature before it says so.
 */
export function costlyCertificates(count: number): { key: string; cert: string } {
  const issuer = keyWithLongExponent(3072);
  const leaf = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issued = (subject: number, publicKey: KeyObject) =>
    certificateOf({ subject, issuer: Math.min(subject + 1, count), publicKey, issuerKey: issuer.privateKey });
  const chain = [
    issued(0, leaf.publicKey),
    ...Array.from({ length: count }, (_, at) => issued(at + 1, issuer.publicKey)),
  ];
  return { key: leaf.privateKey.export({ type: "pkcs8", format: "pem" }) as string, cert: chain.map(pem).join("") };
}

interface Issued {
  /** Names are numbers: each certificate is issued by the next one, the last by itself. */
  subject: number;
  issuer: number;
  publicKey: KeyObject;
  issuerKey: KeyObject;
}

function certificateOf({ subject, issuer, publicKey, issuerKey }: Issued): Buffer {
  const algorithm = sequence(oid("2a864886f70d01010b"), der(0x05, Buffer.alloc(0))); // sha256WithRSAEncryption
  const isCa = sequence(
    oid("551d13"),
    der(0x01, Buffer.of(0xff)),
    octets(sequence(der(0x01, Buffer.of(subject > 0 ? 0xff : 0)))),
  );
  const certificate = sequence(
    der(0xa0, der(0x02, Buffer.of(2))), // version 3
    der(0x02, Buffer.of(subject + 1)),
    algorithm,
    nameOf(issuer),
    sequence(utcTime("200101000000Z"), utcTime("491231235959Z")),
    nameOf(subject),
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(isCa)),
  );
  const signature = Buffer.concat([Buffer.of(0), sign("sha256", certificate, issuerKey)]);
  return sequence(certificate, algorithm, der(0x03, signature));
}

const nameOf = (number: number): Buffer => name(attribute("550403", utf8(String(number))));

const pem = (certificate: Buffer): string =>
  `-----BEGIN CERTIFICATE-----\n${certificate.toString("base64").replace(/.{64}/g, "$&\n")}\n-----END CERTIFICATE-----\n`;

export function keyWithLongExponent(bits: number): { publicKey: KeyObject; privateKey: KeyObject } {
  for (;;) {
    const prime = (): bigint => generatePrimeSync(bits / 2, { bigint: true });
    const [p, q] = [prime(), prime()];
    const [n, phi] = [p * q, (p - 1n) * (q - 1n)];
    const e = (BigInt(`0x${randomBytes(bits / 8).toString("hex")}`) % phi) | 1n;
    const d = inverse(e, phi);
    if (d === undefined || n.toString(2).length !== bits) continue;
    const qi = inverse(q, p) as bigint;
    const members = { n, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi };
    const encoded = Object.fromEntries(Object.entries(members).map(([member, value]) => [member, base64url(value)]));
    const privateKey = createPrivateKey({ key: { kty: "RSA", ...encoded }, format: "jwk" });
    return { privateKey, publicKey: createPublicKey(privateKey) };
  }
}

function base64url(value: bigint): string {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
}

/** The inverse of a number, by Euclid's extended algorithm; undefined if there is none. */
function inverse(value: bigint, modulus: bigint): bigint | undefined {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b] = [b, a - quotient * b];
    [x, y] = [y, x - quotient * y];
  }
  return a === 1n ? ((x % modulus) + modulus) % modulus : undefined;
}
