import { open } from "node:fs/promises";
import { join } from "node:path";
import { recentlyUsed } from "../../kernel/recently-used.ts";
import { builtInTemplate, type MailKindName } from "./kinds.ts";
import { type Facts, problemOfTemplate, type Template } from "./render.ts";

/** The operator's templates. Each has a folder. */
export interface Templates {
  /** The template with this id, or the built-in one. If it cannot be used for this message, the problem, which continues "the template". */
  find(
    which: { kind: MailKindName; templateId?: string },
    facts: Facts,
  ): Promise<{ template: Template } | { problem: string }>;
}

const FILES = { subject: "subject.txt", text: "text.txt", html: "html.html" } as const;
/** The maximum bytes of each file of a template. */
const MAX_FILE_BYTES = { subject: 1024, text: 64 * 1024, html: 256 * 1024 } as const;
/** Templates cached in memory, and how long an edited file may go unnoticed. */
const MAX_KEPT = 16;
const KEPT_MS = 5000;

/** An id is a folder's name and cannot lead anywhere else. */
const ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/;

export function createTemplates(folder: string): Templates {
  const kept = recentlyUsed<{ read: Promise<Template | string>; until: number }>({ entries: MAX_KEPT });
  const readOnce = (id: string): Promise<Template | string> => {
    const known = kept.get(id);
    if (known !== undefined && known.until > performance.now()) return known.read;
    const read = readTemplate(join(folder, id));
    kept.set(id, { read, until: performance.now() + KEPT_MS });
    return read;
  };
  return {
    async find({ kind, templateId }, facts) {
      if (!templateId) return { template: builtInTemplate(kind, facts) };
      const template = ID.test(templateId) ? await readOnce(templateId) : "is not known";
      if (typeof template === "string") return { problem: template };
      const problem = problemOfTemplate(template, facts);
      return problem === undefined ? { template } : { problem };
    },
  };
}

async function readTemplate(folder: string): Promise<Template | string> {
  try {
    const read = async (part: keyof typeof FILES) => [
      part,
      await readBounded(join(folder, FILES[part]), MAX_FILE_BYTES[part]),
    ];
    const template = Object.fromEntries(
      await Promise.all([read("subject"), read("text"), read("html")]),
    ) as unknown as Template;
    return { ...template, subject: template.subject.trim() };
  } catch (error) {
    if (error instanceof TooLarge) return error.message;
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR")
      return `is not known, or lacks one of ${Object.values(FILES).join(", ")}`;
    return `cannot be read (${code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it is not UTF-8" : (code ?? "for no known reason")})`;
  }
}

class TooLarge extends Error {}

async function readBounded(path: string, maxBytes: number): Promise<string> {
  const file = await open(path, "r");
  try {
    const buffer = Buffer.alloc(maxBytes + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > maxBytes) throw new TooLarge(`has a file of more than ${maxBytes} bytes`);
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}
