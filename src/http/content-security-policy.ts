import { createHash } from "node:crypto";

/**
 * The content security policy of a page: its scripts are those of the build, it sends requests to this server only, and what is not named is
 * forbidden. The listener sets a stricter one on every other answer.
 *
 * @param more further sources, by directive, or other ones in place of those above
 * @param framedBy the origins whose pages may show it in a frame; default: none
 */
export function contentSecurityPolicy(more: Readonly<Record<string, string>>, framedBy = "'none'"): string {
  const directives = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    ...more,
    "connect-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": framedBy,
  };
  return Object.entries(directives)
    .map(([directive, sources]) => `${directive} ${sources}`)
    .join("; ");
}

/** The sources that allow the scripts of the build and those written in the page itself. */
export function ownScripts(html: string): string {
  const inline = html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g);
  const hashes = [...inline].map(([, code = ""]) => `'sha256-${createHash("sha256").update(code).digest("base64")}'`);
  return ["'self'", ...new Set(hashes)].join(" ");
}
