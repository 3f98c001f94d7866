import { X509Certificate } from "node:crypto";
import { type ConnectionOptions, type DetailedPeerCertificate, TLSSocket } from "node:tls";
import type pg from "pg";

/** When a certificate that a connection needs expires, in milliseconds. */
export interface CertificateEnd {
  whose: "PostgreSQL" | "client";
  endsAt: number;
}

/** Members of a client that the driver's types do not declare. */
interface DriverClient {
  connection: { stream: unknown };
  ssl: boolean | ConnectionOptions;
}

/** Longer than any chain that is accepted. */
const MAX_CHAIN = 10;

/**
 * For a TLS connection: the earliest expiry in the chain that PostgreSQL presented, if the chain is verified, and the expiry of the client's
 * own certificate, if it has one.
 */
export function certificateEnds(client: pg.ClientBase): CertificateEnd[] {
  const { connection, ssl } = client as pg.ClientBase & DriverClient;
  const { stream } = connection;
  if (!(stream instanceof TLSSocket)) return [];
  const { cert, rejectUnauthorized }: ConnectionOptions = typeof ssl === "object" ? ssl : {};
  const ends: CertificateEnd[] = [];
  if (rejectUnauthorized !== false)
    ends.push({ whose: "PostgreSQL", endsAt: firstEnd(stream.getPeerCertificate(true)) });
  if (cert) ends.push({ whose: "client", endsAt: new X509Certificate(String(cert)).validToDate.getTime() });
  return ends.filter(({ endsAt }) => !Number.isNaN(endsAt));
}

/** The earliest expiry in a chain. A self-signed authority is its own issuer, so the loop needs a limit. */
function firstEnd(leaf: DetailedPeerCertificate): number {
  let first = Date.parse(leaf.valid_to);
  let certificate = leaf;
  for (let link = 1; link < MAX_CHAIN && certificate.issuerCertificate; link++) {
    certificate = certificate.issuerCertificate;
    first = Math.min(first, Date.parse(certificate.valid_to));
  }
  return first;
}
