import {
  AppShell,
  Burger,
  Button,
  Group,
  NavLink,
  Stack,
  Text,
  UnstyledButton,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { useEffect } from "react";
import { useWaitingForMe, type Waiting } from "../api/activities.ts";
import { useNames } from "../api/hooks.ts";
import { Notices } from "../parts/notice.tsx";
import { Page } from "../parts/page.tsx";
import { Name } from "../parts/texts.tsx";
import { useSigned } from "../session/context.tsx";
import { Search } from "./search.tsx";

const PAGES = [
  { to: "/", label: "Overview" },
  { to: "/activities", label: "Activities" },
  { to: "/wallets", label: "Wallets" },
  { to: "/keys", label: "Private keys" },
  { to: "/users", label: "Users" },
  { to: "/organization", label: "Organization" },
  { to: "/sub-organizations", label: "Sub-organizations" },
  { to: "/policies", label: "Policies" },
  { to: "/webhooks", label: "Webhooks" },
  { to: "/sign-in", label: "Sign-in" },
  { to: "/products", label: "Products" },
  { to: "/api", label: "API" },
] as const;

/** What stands around every page. */
export function Shell() {
  const [isOpen, { toggle, close }] = useDisclosure();
  const { pathname } = useLocation();
  // biome-ignore lint/correctness/useExhaustiveDependencies: whatever leads to another page closes the menu of a small screen
  useEffect(close, [pathname]);
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 220, breakpoint: "sm", collapsed: { mobile: !isOpen } }}
      padding="lg"
    >
      <UnstyledButton className="skip" onClick={skipToMain}>
        Skip to content
      </UnstyledButton>
      <AppShell.Header>
        <Header isOpen={isOpen} toggle={toggle} />
      </AppShell.Header>
      <AppShell.Navbar p="sm" aria-label="Pages" data-closed={!isOpen || undefined}>
        <Navigation pathname={pathname} close={close} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        <Notices>
          <Outlet />
        </Notices>
      </AppShell.Main>
    </AppShell>
  );
}

/** No link does that here: what follows a `#` names a page. */
const skipToMain = (): void => document.getElementById("main")?.focus();

function Header({ isOpen, toggle }: { isOpen: boolean; toggle: () => void }) {
  const { leave } = useSigned();
  const { organizationName, userName } = useNames();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  const isDark =
    colorScheme === "dark" || (colorScheme === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap">
      <Group wrap="nowrap" gap="sm" miw={0}>
        <Burger opened={isOpen} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Pages" aria-expanded={isOpen} />
        <Text fw={700} visibleFrom="xs">
          Keystead
        </Text>
        <Text c="dimmed" truncate visibleFrom="xs">
          <Name>{organizationName}</Name>
        </Text>
      </Group>
      <Group gap="xs" wrap="nowrap">
        <Text size="sm" truncate maw={200} visibleFrom="sm">
          <Name>{userName}</Name>
        </Text>
        <Search />
        <Button
          size="compact-sm"
          variant="default"
          flex="none"
          onClick={() => setColorScheme(isDark ? "light" : "dark")}
        >
          {isDark ? "Light" : "Dark"}
        </Button>
        <Button size="compact-sm" variant="default" flex="none" onClick={leave}>
          Sign out
        </Button>
      </Group>
    </Group>
  );
}

/** @param close closes the menu of a small screen: a link to the page that is shown already leads to no other, which would */
function Navigation({ pathname, close }: { pathname: string; close: () => void }) {
  const waiting = useWaitingForMe();
  const waits = waitingWords(waiting.data);
  // A server from a clone may not have built it.
  const hasHandbook = useQuery({
    queryKey: ["handbook"],
    queryFn: async () => (await fetch("/handbook/")).ok,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
  return (
    <Stack gap={2}>
      {PAGES.map(({ to, label }) => {
        const isHere = to === "/" ? pathname === "/" : pathname.startsWith(to);
        return (
          <NavLink
            key={to}
            component={Link}
            to={to}
            label={label}
            active={isHere}
            onClick={close}
            {...(isHere ? { "aria-current": "page" as const } : {})}
            {...(to === "/activities" && waits !== undefined ? { description: waits } : {})}
            variant="filled"
            style={{ borderRadius: "var(--mantine-radius-md)" }}
          />
        );
      })}
      {hasHandbook.data === true && (
        <NavLink
          component="a"
          href="/handbook/"
          label="Handbook"
          style={{ borderRadius: "var(--mantine-radius-md)" }}
        />
      )}
    </Stack>
  );
}

function waitingWords(waiting: Waiting | undefined): string | undefined {
  if (!waiting) return undefined;
  const { mine, untold, hasMore } = waiting;
  if (mine.length === 0) return untold > 0 ? `${untold} may wait for you` : undefined;
  const orMore = untold > 0 || hasMore ? " or more" : "";
  return mine.length === 1 && orMore === "" ? "1 waits for you" : `${mine.length}${orMore} wait for you`;
}

export const NotFound = () => (
  <Page title="There is nothing here">
    <Text>
      There is no page of this name. <Link to="/">Go to the overview</Link>.
    </Text>
  </Page>
);
