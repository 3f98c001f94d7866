import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { rolldown } from "rolldown";

/** A page of an app that has published packages bundled in, as apps do it. */
export interface AppPage {
  /** By name, as passkeys need one. */
  url: string;
  close(): void;
}

/** @param script a module; what it imports is found from this folder */
export async function startAppPage(script: string): Promise<AppPage> {
  const entry = new URL("app-page-entry.js", import.meta.url).pathname;
  const bundle = await rolldown({
    input: entry,
    platform: "browser",
    logLevel: "silent",
    plugins: [
      {
        name: "entry",
        resolveId: (id) => (id === entry ? id : null),
        load: (id) => (id === entry ? script : null),
      },
    ],
  });
  const { output } = await bundle.generate({ format: "es", codeSplitting: false });
  await bundle.close();
  const page = `<!doctype html><title>An app</title><link rel="icon" href="data:,"><div id="frames"></div>
<script type="module" src="/app.js"></script>`;
  const server = createServer(({ url }, response) => {
    const isScript = url === "/app.js";
    response.setHeader("content-type", isScript ? "text/javascript; charset=utf-8" : "text/html; charset=utf-8");
    response.end(isScript ? output[0].code : page);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://localhost:${(server.address() as AddressInfo).port}/`,
    close: () => void server.close(),
  };
}
