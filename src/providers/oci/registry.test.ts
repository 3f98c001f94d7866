import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import { syncBuiltinESMExports } from "node:module";
import { type AddressInfo, createServer as createSilent, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import zlib, { constants, gzipSync, type ZstdOptions, zstdCompressSync } from "node:zlib";
import { cpuOf, longestHold } from "../../../test/support/loop-hold.ts";
import { digestOf, pushImage, type RegistryOfTests, registryOfTests, tarOf } from "../../../test/support/registry.ts";
import { until } from "../../../test/support/until.ts";
import { createOutboundClient, type OutboundClient } from "../../delivery/outbound.ts";
import { MAX_CONNECTIONS_PER_HOST } from "../../kernel/limits.ts";
import { parseImageReference } from "./reference.ts";
import { createImages, type Images } from "./registry.ts";
import { normalPath } from "./tar.ts";

const MIB = 1024 * 1024;
const TAR = "application/vnd.oci.image.layer.v1.tar";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
/** Bytes of buffers that are in use. */
const heldNow = (): number => {
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
};

const OF = "an organization";
const program = Buffer.from("a program\n".repeat(1000));
const entry = { name: "usr/bin/app", content: program };

describe("image references", () => {
  const digest = `sha256:${"0".repeat(64)}`;
  const valid: Record<string, object> = {
    "registry.example.com/app": { registry: "registry.example.com", repository: "app" },
    "registry.example.com:5000/team/app:1.0": {
      registry: "registry.example.com:5000",
      repository: "team/app",
      tag: "1.0",
    },
    [`localhost/app@${digest}`]: { registry: "localhost", repository: "app", digest },
    [`127.0.0.1:5000/app:1@${digest}`]: { registry: "127.0.0.1:5000", repository: "app", tag: "1", digest },
    "[::1]:5000/app": { registry: "[::1]:5000", repository: "app" },
    alpine: { registry: "registry-1.docker.io", repository: "library/alpine" },
    "docker.io/team/app": { registry: "registry-1.docker.io", repository: "team/app" },
  };
  for (const [text, parts] of Object.entries(valid)) {
    it(`are read: ${text}`, () => {
      assert.deepEqual(parseImageReference(text), { tag: undefined, digest: undefined, ...parts });
    });
  }

  it("are refused where they could be read in two ways or not at all", () => {
    const bad = [
      "",
      ":",
      "@",
      "a//b",
      "x.com/",
      "x.com/a:b:c",
      "x.com/A",
      "-x.com/a",
      "x.com/a@sha512:00",
      "x.com/a b",
      "x.com/a?b",
      "x.com/a#b",
      "user:pw@x.com/a",
      "http://x.com/a",
      "x.com:65536/a",
      "1.2.3.256/a",
      "1.2.3.4.5/a",
      "[:::]/a",
      "[1::2::3]:5000/a",
    ];
    for (const text of bad) assert.ok("problem" in parseImageReference(text), text);
  });
});

describe("images", () => {
  let outbound: OutboundClient;
  let registry: RegistryOfTests;
  let images: Images;
  const directory = mkdtempSync(join(tmpdir(), "keystead-test-"));
  after(() => rmSync(directory, { recursive: true }));
  before(async () => {
    outbound = createOutboundClient({ allowPrivateNetworks: true });
    registry = await registryOfTests();
    images = createImages({ outbound, plainLoopback: true, directory });
  });
  after(() => outbound.close());

  const read = ({ byDigest: reference, digest }: { byDigest: string; digest: string }, path = "/usr/bin/app") =>
    images.readFile({ reference, digest, path }, OF);
  const layer = (bytes: Buffer, mediaType: string) => ({ mediaType, digest: registry.blob(bytes), size: bytes.length });
  const push = async (layers: object[]) => {
    const digest = registry.manifest("other/app", {
      schemaVersion: 2,
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      layers,
    });
    return { digest, byDigest: `${registry.host}/other/app@${digest}` };
  };

  it("give a file as their upper layers leave it", async () => {
    const older = { ...entry, content: Buffer.from("older") };
    assert.deepEqual(
      await read(await pushImage([[older], [{ name: "etc/x", content: Buffer.from("x") }], [entry]])),
      program,
    );
    assert.deepEqual(
      await read(
        await pushImage([
          [
            { name: "./usr/", type: "5" },
            { ...entry, name: "./usr/bin/app" },
          ],
        ]),
      ),
      program,
    );
    const long = `${"folder/".repeat(20)}app`;
    assert.deepEqual(await read(await pushImage([[{ name: long, content: program }]]), `/${long}`), program);
  });

  it("have no file that an upper layer took away", async () => {
    for (const name of ["usr/bin/.wh.app", "usr/.wh.bin", ".wh.usr", "usr/bin/.wh..wh..opq"]) {
      await assert.rejects(read(await pushImage([[entry], [{ name }]])), /no file \/usr\/bin\/app/, name);
    }
    const back = [[entry], [{ name: ".wh.usr" }], [entry]];
    assert.deepEqual(await read(await pushImage(back)), program);
    assert.deepEqual(await read(await pushImage([[{ name: "usr/bin/.wh..wh..opq" }, entry]])), program);
  });

  it("may be packed by gzip, zstd or not at all", async () => {
    const tar = tarOf([entry]);
    const kinds = [
      layer(gzipSync(tar), "application/vnd.docker.image.rootfs.diff.tar.gzip"),
      layer(zstdCompressSync(tar), "application/vnd.oci.image.layer.v1.tar+zstd"),
      layer(tar, "application/vnd.oci.image.layer.v1.tar"),
    ];
    for (const kind of kinds) assert.deepEqual(await read(await push([kind])), program);
  });

  it("are refused with links, layers that are not what they say, and what is no image", async () => {
    await assert.rejects(
      read(await pushImage([[{ name: "usr/bin/app", type: "2", target: "/bin/sh" }]])),
      /is a link to \/bin\/sh/,
    );
    const gzip = "application/vnd.oci.image.layer.v1.tar+gzip";
    const garbage = Buffer.from("garbage".repeat(200));
    await assert.rejects(read(await push([layer(garbage, gzip)])), /cannot be unpacked/);
    await assert.rejects(read(await push([layer(gzipSync(garbage), gzip)])), /not a tar archive/);
    await assert.rejects(read(await push([layer(garbage, "application/x-unknown")])), /type application\/x-unknown/);
    await assert.rejects(read(await push([{ ...layer(garbage, gzip), size: 2 ** 40 }])), /more than \d+ bytes/);
    await assert.rejects(read(await push([{ mediaType: gzip, digest: "sha256:x", size: 1 }])), /not one of an OCI/);
  });

  it("never give what has another digest, whatever the registry answers", async () => {
    const pushed = await pushImage([[entry]]);
    const wrong = gzipSync(tarOf([{ ...entry, content: Buffer.from("another program") }]));
    registry.answer("/blobs/", (_, response) => response.writeHead(200).end(wrong));
    await assert.rejects(read(pushed), /does not have the digest|more than/);
    registry.answer("/blobs/", undefined);
    assert.deepEqual(await read(pushed), program);
  });

  it("are read with the token that a registry gives to everybody, and from where it sends us", async () => {
    const pushed = await pushImage([[entry]], { repository: "guarded/app" });
    const asked: string[] = [];
    registry.answer("/token", (request, response) => {
      asked.push(request.url ?? "");
      response.end(JSON.stringify({ token: "abc" }));
    });
    const realm = `http://${registry.host}/token`;
    registry.answer("/v2/guarded/", (request, response) => {
      if (request.headers.authorization !== "Bearer abc") {
        const challenge = `Bearer realm="${realm}",service="registry",scope="repository:guarded/app:pull"`;
        return response.writeHead(401, { "www-authenticate": challenge }).end();
      }
      return response
        .writeHead(307, { location: `http://${registry.host}${request.url?.replace("guarded", "moved")}` })
        .end();
    });
    const moved = await pushImage([[entry]], { repository: "moved/app" });
    assert.equal(moved.digest, pushed.digest);
    assert.deepEqual(await read(pushed), program);
    assert.deepEqual(asked, ["/token?service=registry&scope=repository%3Aguarded%2Fapp%3Apull"]);
    for (const part of ["/token", "/v2/guarded/"]) registry.answer(part, undefined);
  });

  it("show a pull secret to nobody whom a server names that the registry redirects to", async () => {
    const pem = (name: string) =>
      readFileSync(new URL(`../../../test/support/tls/${name}.pem`, import.meta.url), "utf8");
    const [key, cert] = [pem("key"), pem("valid")];
    const shown: (string | undefined)[] = [];
    let challenge = "";
    const elsewhere = createServer({ key, cert }, ({ headers }, response) => {
      shown.push(headers.authorization);
      response.writeHead(401, { "www-authenticate": challenge }).end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
    const origin = `https://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const trusting = createOutboundClient({ allowPrivateNetworks: true, ca: cert });
    registry.answer("/v2/away/", (_, response) => response.writeHead(307, { location: `${origin}/x` }).end());
    try {
      const own = createImages({ outbound: trusting, plainLoopback: true, directory });
      for (challenge of [`Bearer realm="${origin}/tokens",service="registry"`, 'Basic realm="registry"']) {
        for (const credential of [{ username: "puller", password: "a password" }, { token: "a-token" }]) {
          shown.length = 0;
          await assert.rejects(
            own.resolve(`${registry.host}/away/app:1`, OF, credential),
            /redirects to a server that does not let everybody read it/,
          );
          assert.deepEqual(shown, [undefined]);
        }
      }
    } finally {
      registry.answer("/v2/away/", undefined);
      await trusting.close();
      elsewhere.close();
    }
  });

  it("are asked for by https unless loopback registries may be plain, and never behind a redirect to plain HTTP", async () => {
    const strict = createImages({ outbound, plainLoopback: false, directory });
    await assert.rejects(strict.resolve(`${registry.host}/team/app:1`, OF), /./);
    registry.answer("/v2/leading/", (_, response) =>
      response.writeHead(302, { location: "http://example.com/x" }).end(),
    );
    await assert.rejects(
      images.resolve(`${registry.host}/leading/app:1`, OF),
      /redirects to something that is not https/,
    );
    registry.answer("/v2/leading/", (request, response) =>
      response.writeHead(302, { location: request.url ?? "" }).end(),
    );
    await assert.rejects(images.resolve(`${registry.host}/leading/app:1`, OF), /redirects too often/);
    registry.answer("/v2/leading/", undefined);
  });

  it("are not held in memory while they come, and leave no file", async (t) => {
    t.after(() => registry.answer("/blobs/", undefined));
    const large = layer(tarOf([{ name: "usr/bin/app", content: Buffer.alloc(96 * MIB, 1) }]), TAR);
    const pushed = await push([large]);
    const before = heldNow();
    let finish = () => {};
    const almostSent = new Promise<void>((resolve) => {
      registry.answer("/blobs/", (request, response) => {
        const bytes = registry.blobOf(request.url?.split("/").at(-1) ?? "");
        response.writeHead(200, { "content-length": bytes.length });
        response.write(bytes.subarray(0, -1), () => resolve());
        finish = () => void response.end(bytes.subarray(-1));
      });
    });
    const reading = read(pushed);
    await almostSent;
    // V8 gives memory back a little after it has collected it.
    await until(() => heldNow() - before < 32 * MIB, "little to be held");
    assert.deepEqual(readdirSync(directory), []);
    finish();
    assert.equal((await reading).length, 96 * MIB);
  });

  it("are unpacked two at a time, however many organizations have theirs read", async (t) => {
    const packed = zstdCompressSync(tarOf([{ name: "usr/bin/app", content: Buffer.alloc(4 * MIB, 2) }]));
    const { byDigest: reference, digest } = await push([layer(packed, `${TAR}+zstd`)]);
    let [open, most, count] = [0, 0, 0];
    const create = zlib.createZstdDecompress;
    t.mock.method(zlib, "createZstdDecompress", (options?: ZstdOptions) => {
      most = Math.max(most, ++open);
      count++;
      return create(options).once("close", () => open--);
    });
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
    syncBuiltinESMExports();
    const reads = Array.from({ length: 8 }, async (_, index) => {
      const read = await images.readFile({ reference, digest, path: "/usr/bin/app" }, `organization ${index}`);
      assert.equal(read.length, 4 * MIB);
    });
    await Promise.all(reads);
    assert.deepEqual({ most, count, open }, { most: 2, count: 8, open: 0 });
  });

  it("are read for others while some registries send no more", async (t) => {
    t.after(() => registry.answer("/v2/stopped/app/blobs/", undefined));
    const pushed = await pushImage([[entry]]);
    const stopped = await pushImage([[entry]], { repository: "stopped/app" });
    const hanging: ServerResponse[] = [];
    registry.answer("/v2/stopped/app/blobs/", (_, response) => {
      response.writeHead(200).write("x");
      hanging.push(response);
    });
    const { byDigest: reference, digest } = stopped;
    const path = "/usr/bin/app";
    const others = Array.from({ length: MAX_CONNECTIONS_PER_HOST - 1 }, (_, index) =>
      assert.rejects(images.readFile({ reference, digest, path }, `organization ${index}`), /connection/),
    );
    await until(() => hanging.length === MAX_CONNECTIONS_PER_HOST - 1, "the others to wait");
    assert.deepEqual(await read(pushed), program);
    for (const response of hanging) response.destroy();
    await Promise.all(others);
  });

  it("are read for others while the registries of ten organizations do not answer", async (t) => {
    const pushed = await pushImage([[entry]]);
    const open: Socket[] = [];
    const hanging: Promise<void>[] = [];
    t.after(() => {
      for (const socket of open) socket.destroy();
      return Promise.all(hanging);
    });
    for (let number = 1; number <= 10; number++) {
      const silent = createSilent((socket) => void open.push(socket.on("error", () => {})));
      // At an address of its own, which counts as a host.
      const host = `127.0.2.${number}`;
      await once(silent.listen(0, host), "listening");
      t.after(() => silent.close());
      const image = `${host}:${(silent.address() as AddressInfo).port}/app`;
      for (const _ of ["one", "two"]) hanging.push(assert.rejects(images.resolve(image, `organization ${number}`)));
    }
    await until(() => open.length === hanging.length, "all of them to hang");
    assert.deepEqual(await read(pushed), program);
  });

  it("are refused where unpacking them takes much memory", async () => {
    const params = { [constants.ZSTD_c_windowLog]: 27 };
    const packed = zstdCompressSync(tarOf([{ name: "usr/bin/app", content: Buffer.alloc(16 * MIB) }]), { params });
    assert.ok(packed.length < 10_000);
    await assert.rejects(read(await push([layer(packed, `${TAR}+zstd`)])), /its zstd window is larger than 8 MiB/);
    assert.deepEqual(readdirSync(directory), []);
  });

  it("of several platforms give that of this machine", async () => {
    const { digest, byTag } = await pushImage([[entry]]);
    assert.equal(await images.resolve(byTag, OF), digest);
    const foreign = registry.manifest("foreign/app", {
      mediaType: "application/vnd.oci.image.index.v1+json",
      manifests: [
        {
          mediaType: "application/vnd.oci.image.manifest.v1+json",
          digest: digestOf(program),
          size: 1,
          platform: { os: "linux", architecture: "s390x" },
        },
      ],
    });
    await assert.rejects(
      read({ digest: foreign, byDigest: `${registry.host}/foreign/app@${foreign}` }),
      /not built for linux/,
    );
  });

  it("are gone through in pieces, and challenges in one go", async () => {
    // With new connections, and last: the registry closes idle ones while this thread generates its content.
    const onItsOwn = async (work: (own: Images) => Promise<void>): Promise<number> => {
      const client = createOutboundClient({ allowPrivateNetworks: true });
      try {
        return await longestHold(() => work(createImages({ outbound: client, plainLoopback: true, directory })));
      } finally {
        await client.close();
      }
    };
    const entries = Array.from({ length: 30_000 }, (_, index) => ({ name: `file ${index}` }));
    const pushed = await push([layer(tarOf([...entries, entry]), "application/vnd.oci.image.layer.v1.tar")]);
    const before = process.threadCpuUsage();
    const { byDigest: reference, digest } = pushed;
    const hold = await onItsOwn(async (own) => {
      assert.deepEqual(await own.readFile({ reference, digest, path: "/usr/bin/app" }, OF), program);
    });
    const { user, system } = process.threadCpuUsage(before);
    const used = (user + system) / 1000;
    assert.ok(hold < used / 3, `${hold} of ${used} ms at once`);

    const challenge = `Bearer ${"a".repeat(14_000)}`;
    registry.answer("/v2/long/", (_, response) => response.writeHead(401, { "www-authenticate": challenge }).end());
    const fromEachLetter = cpuOf(() => Array.from(challenge.matchAll(/(\w+)="([^"]*)"/g)));
    const spent = await onItsOwn((own) =>
      assert.rejects(own.resolve(`${registry.host}/long/app:1`, OF), /does not let everybody read it/),
    );
    registry.answer("/v2/long/", undefined);
    assert.ok(spent < fromEachLetter / 2, `${spent} ms, and ${fromEachLetter} ms from each letter`);
  });
});

it("paths in archives do not leave their root", () => {
  assert.equal(normalPath("../../etc/./passwd"), "etc/passwd");
  assert.equal(normalPath("/a/../b//c"), "b/c");
});
