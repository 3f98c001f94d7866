import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import type { RequestHead, RouteAnswer } from "./route.ts";

/** A file kept in memory, whole and compressed. All answers share its bytes. */
export interface StaticFile {
  /** The file, or 304 if the client has it cached. */
  answer(head: RequestHead): RouteAnswer;
}

const compress = promisify(gzip);

/** @param headers for every answer with the file, including its content type */
export async function staticFile(content: Buffer, headers: Record<string, string>): Promise<StaticFile> {
  const compressed = await compress(content, { level: 9 });
  const etag = `"${createHash("sha256").update(content).digest("hex").slice(0, 32)}"`;
  const shared = { ...headers, etag, vary: "accept-encoding" };
  return {
    answer({ headers: { "if-none-match": known, "accept-encoding": accepted } }) {
      // A proxy may have weakened the tag. This comparison ignores that (RFC 9110, section 13.1.2).
      const isKnown = known?.split(",").some((tag) => tag.trim().replace(/^W\//, "") === etag);
      if (isKnown) return { status: 304, headers: shared, body: EMPTY, isShared: true };
      const takesGzip = typeof accepted === "string" && /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/.test(accepted);
      if (!takesGzip) return { headers: shared, body: content, isShared: true };
      return { headers: { ...shared, "content-encoding": "gzip" }, body: compressed, isShared: true };
    },
  };
}

const EMPTY = Buffer.alloc(0);
