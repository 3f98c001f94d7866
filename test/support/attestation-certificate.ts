import { type KeyObject, sign } from "node:crypto";
import { attribute, der, name as nameOf, octets, oid, printable, sequence, utcTime, utf8 } from "./der.ts";

/** DER of a self-issued certificate as WebAuthn Level 3, section 8.2.1 wants it of a `packed` attestation key. */
export function attestationCertificate(keys: { publicKey: KeyObject; privateKey: KeyObject }, aaguid: Buffer): Buffer {
  const algorithm = sequence(oid("2a8648ce3d040302")); // ecdsa-with-SHA256
  const name = nameOf(
    attribute("550406", printable("AQ")),
    attribute("55040a", utf8("Software Authenticators")),
    attribute("55040b", utf8("Authenticator Attestation")),
    attribute("550403", utf8("Software Authenticator 1")),
  );
  const version3 = der(0xa0, der(0x02, Buffer.of(2)));
  const validity = sequence(utcTime("200101000000Z"), utcTime("491231235959Z"));
  const extensions = sequence(
    sequence(oid("551d13"), der(0x01, Buffer.of(0xff)), octets(sequence())), // basicConstraints: not a CA
    sequence(oid("2b0601040182e51c010104"), octets(octets(aaguid))), // id-fido-gen-ce-aaguid
  );
  const certificate = sequence(
    version3,
    der(0x02, Buffer.of(1)),
    algorithm,
    name,
    validity,
    name,
    keys.publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  return sequence(
    certificate,
    algorithm,
    der(0x03, Buffer.concat([Buffer.of(0), sign("sha256", certificate, keys.privateKey)])),
  );
}
