import http from "node:http";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { type Plugin, rolldown } from "rolldown";

/**
 * The program as it is shipped (docs/adr/0153-the-program-in-few-files.md): the command with the server, the signer and the runner, each
 * put together with the packages that it imports. No file of the signer's is the server's as well, so that its digest is of what it runs.
 */

const root = fileURLToPath(new URL("..", import.meta.url));
const source = join(root, "src");

/** Main modules that the server starts as processes or threads: below `src`, and by the same names below what is built. */
export const SPAWNED = ["signer/process/main", "runner/process/main", "delivery/thread/main"];
/** With that which `bin/keystead.js` imports. */
const MAINS = ["main/cli", ...SPAWNED];

const LEFT_OUT = [
  // Of the platform, and there once the package is installed.
  "secp256k1/bindings.js",
  // The docs page is built by itself.
  "@scalar/fastify-api-reference",
  // Nobody has it: `pg` asks for it where somebody does.
  "pg-native",
];

/** Writes it below `dist`. Resolves to what each part was put together of, packages among it: by its name, paths of files. */
export async function buildProgram(dist: string): Promise<Map<string, string[]>> {
  return new Map(await Promise.all(MAINS.map(async (main) => [main, await buildPart(main, dist)] as const)));
}

async function buildPart(main: string, dist: string): Promise<string[]> {
  const folder = dirname(main);
  const bundle = await rolldown({
    input: { [main]: join(source, `${main}.ts`) },
    // Of which it tells the paths of what it has put together.
    cwd: root,
    platform: "node",
    external: LEFT_OUT,
    plugins: [placesOf(folder), serverOfHttp],
    checks: { eval: false },
  });
  try {
    const { output } = await bundle.write({
      dir: dist,
      format: "esm",
      // Names are in traces, and in what is logged of errors.
      keepNames: true,
      entryFileNames: "[name].js",
      chunkFileNames: `${folder}/[name]-[hash].js`,
    });
    return output.flatMap((file) => (file.type === "chunk" ? file.moduleIds : []));
  } finally {
    await bundle.close();
  }
}

/** Of `node:http`, what belongs to a client that we use nothing of; in what is built nobody has it. */
const OF_CLIENT = ["WebSocket", "CloseEvent", "MessageEvent"];
const HTTP = "\0http";

/**
 * Whoever imports `node:http` has Node load a whole client (undici) for three names in it: some 20 ms of a start, and 2 MB. Who
 * gets the module by its name has it without.
 */
const serverOfHttp: Plugin = {
  name: "server of http",
  resolveId: (id, _importer, { kind }) => (kind === "import-statement" && /^(node:)?http$/.test(id) ? HTTP : undefined),
  load(id) {
    if (id !== HTTP) return undefined;
    const names = Object.keys(http).filter((name) => !OF_CLIENT.includes(name));
    return `const http = process.getBuiltinModule("node:http");\nexport default http;\nexport const { ${names.join(", ")} } = http;\n`;
  },
};

/**
 * What a module of ours says of its own place: below `dist` it is where it was below `src`, whatever file it was put into. What it loads
 * only when that is needed is put in as well, and begins only then.
 */
function placesOf(folder: string): Plugin {
  return {
    name: "places",
    transform(code, id) {
      if (!id.startsWith(source) || !code.includes("import.meta.")) return undefined;
      const urlOf = (path: string) => `new URL("${relative(folder, path)}", import.meta.url).href`;
      const module = relative(source, id).replace(/\.ts$/, ".js");
      const fileOf = `process.getBuiltinModule("node:url").fileURLToPath(${urlOf(module)})`;
      return code
        .replaceAll(/\bcreateRequire\(import\.meta\.url\)\(("[^"]+")\)/g, "require($1)")
        .replaceAll(/import\.meta\.resolve\("(\.[^"]+)\.ts"\)/g, (_, path) =>
          urlOf(`${join(dirname(module), path)}.js`),
        )
        .replaceAll(/import\.meta\.(url|filename|dirname)\b(?!\)\.href)/g, (_, member) => {
          if (member === "url") return urlOf(module);
          return member === "filename" ? fileOf : `process.getBuiltinModule("node:path").dirname(${fileOf})`;
        });
    },
  };
}
