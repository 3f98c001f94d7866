import { X509Certificate } from "node:crypto";
import { type ConnectionOptions, type DetailedPeerCertificate, TLSSocket } from "node:tls";
import type pg from "pg";

/** When a certificate that a connection needs ends, in milliseconds. */
export interface CertificateEnd {
  whose: "PostgreSQL" | "client";
  endsAt: number;
}

/** More links than a chain has that is verified. */
const MAX_CHAIN = 10;

/**
 * Of a connection by TLS: the first end in the chain that PostgreSQL showed, where it is looked at, and that of the client's own
 * certificate, where it has one.
 */
export function certificateEnds(client: pg.ClientBase): CertificateEnd[] {
  // What the driver's types leave out.
  const { connection, ssl } = client as unknown as {
    connection: { stream: unknown };
    ssl: boolean | ConnectionOptions;
  };
  const { stream } = connection;
  if (!(stream instanceof TLSSocket)) return [];
  const { cert, rejectUnauthorized }: ConnectionOptions = typeof ssl === "object" ? ssl : {};
  const ends: CertificateEnd[] = [];
  if (rejectUnauthorized !== false)
    ends.push({ whose: "PostgreSQL", endsAt: firstEnd(stream.getPeerCertificate(true)) });
  if (cert) ends.push({ whose: "client", endsAt: new X509Certificate(String(cert)).validToDate.getTime() });
  return ends.filter(({ endsAt }) => !Number.isNaN(endsAt));
}

/** The authority that signed itself is its own issuer. */
function firstEnd(leaf: DetailedPeerCertificate): number {
  let first = Date.parse(leaf.valid_to);
  let certificate = leaf;
  for (let link = 1; link < MAX_CHAIN && certificate.issuerCertificate; link++) {
    certificate = certificate.issuerCertificate;
    first = Math.min(first, Date.parse(certificate.valid_to));
  }
  return first;
}
