import assert from "node:assert/strict";
import { it } from "node:test";
import {
  assertAccessible,
  credentialsOf,
  goTo,
  openedPage,
  signInWithText,
  storiesOnEachEngine,
} from "../support/console.ts";
import { startReceiver } from "../support/receiver.ts";
import { until } from "../support/until.ts";

let clockAheadMs = 0;

/** What the organization tells others, and what it lets them do, in a real browser. */
storiesOnEachEngine(
  "services in the console",
  (stage) => {
    it("shows how people sign in, and what products there are", () =>
      stage.tell(async ({ page, root }) => {
        await goTo(page, "Sign-in");
        await page.getByText("It has never been switched on.").waitFor();
        await page.getByText("There is none. X and Discord need one").waitFor();
        await page.getByRole("textbox", { name: "E-mail address" }).fill("ada@example.com");
        await page.getByRole("button", { name: "Look" }).click();
        await page.getByText("Nothing is known of mail to this address.").waitFor();
        await goTo(page, "Products");
        for (const text of ["No vault is enabled.", "There is no provider.", "There is no app."]) {
          await page.getByText(text).waitFor();
        }
        await root.result("enable_auth_proxy", {});
        const { config } = await root.read("get_auth_proxy_config");
        await page.reload();
        await signInWithText(page, credentialsOf(root));
        await openedPage(page, "Products");
        await goTo(page, "Sign-in");
        await page.getByTitle(config.configId).waitFor();
      }));

    it("tells another service, and shows what became of it", () =>
      stage.tell(async ({ page, root }) => {
        const receiver = await startReceiver();
        try {
          await goTo(page, "Webhooks");
          await page.getByRole("button", { name: "New endpoint" }).click();
          await page.getByRole("textbox", { name: "Name" }).fill("Ledger");
          await page.getByRole("textbox", { name: "URL" }).fill(receiver.url);
          await page.getByRole("button", { name: "Create endpoint" }).click();
          const ledger = page.getByRole("region", { name: "Ledger" });
          await ledger.getByText("Told of activity updates.").waitFor();
          await root.result("create_user_tag", { userTagName: "told of", userIds: [] });
          await ledger.getByRole("button", { name: "Deliveries" }).click();
          await ledger
            .getByRole("row", { name: /activity updates delivered 1, the last: answered 200/ })
            .first()
            .waitFor();
          await ledger.getByRole("button", { name: "Send a test" }).click();
          await ledger.getByText("A test event is on its way.").waitFor();
          await ledger
            .getByRole("row", { name: /webhook endpoint test delivered 1, the last: answered 200/ })
            .waitFor();
          assert.ok(receiver.received.some(({ body }) => JSON.parse(body).type === "webhooks:endpoint_test"));
          await assertAccessible(page, "Webhooks with a test");
          await ledger.getByRole("button", { name: "Send again" }).first().click();
          await ledger
            .getByRole("row", { name: /2, the last: answered 200/ })
            .first()
            .waitFor();
          await ledger.getByText("All attempts").first().click();
          await ledger
            .getByRole("listitem")
            .filter({ hasText: /[0-9]+ ms: answered 200/ })
            .nth(1)
            .waitFor();
          const { endpointId } = await root.result("create_webhook_endpoint", { name: "Unused", url: receiver.url });
          await root.result("update_webhook_endpoint", { endpointId, isActive: false });
          await goTo(page, "Overview");
          await page.getByText("1 active, 1 off").waitFor();
          await page.getByRole("main").getByText("Server", { exact: true }).waitFor();
        } finally {
          await receiver.close();
        }
      }));

    it("draws what was counted of each day, and tells it as a table", () =>
      stage.tell(async ({ page, root }) => {
        await root.result("create_user_tag", { userTagName: "counted", userIds: [] });
        // Counting begins some seconds after it happened.
        clockAheadMs += 60_000;
        await until(async () => (await root.read("get_activity_counts")).outcomes.length > 0);
        const charts = page.getByRole("region", { name: "The last 30 days" });
        await charts.getByRole("img", { name: /^Activities, from .* at most [0-9]+ on a day/ }).waitFor();
        await charts.getByText(/Completed: [0-9]+/).waitFor();
        await charts.getByText("None in these days.").first().waitFor();
        await charts.getByText("Activities as a table").click();
        await charts.getByRole("row", { name: /^[0-9]{4}-[0-9]{2}-[0-9]{2} [1-9]/ }).waitFor();
        await assertAccessible(page, "Overview with charts");
      }));
  },
  { clock: () => Date.now() + clockAheadMs },
);
