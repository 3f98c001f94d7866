import { Alert, Text } from "@mantine/core";
import { useLocation } from "@tanstack/react-router";
import { createContext, type ReactNode, use, useState } from "react";

interface Notice {
  text: ReactNode;
  /** The page that it is told on. It goes with the page. */
  pathname: string;
}

const TellContext = createContext<(text: ReactNode) => void>(() => {});

/** Tells above the page that is shown what has just been done. */
export const useTell = (): ((text: ReactNode) => void) => use(TellContext);

/** The pages, and above each what was done last, until it is dismissed or another page is opened. */
export function Notices({ children }: { children: ReactNode }) {
  const [notice, setNotice] = useState<Notice>();
  const { pathname } = useLocation();
  // By the address itself: what tells may have been drawn on the page before.
  const tell = (text: ReactNode) => setNotice({ text, pathname: here() });
  const isShown = notice?.pathname === pathname;
  return (
    <TellContext value={tell}>
      <div role="status">
        {isShown && (
          <Alert
            variant="default"
            mb="lg"
            withCloseButton
            closeButtonLabel="Dismiss"
            onClose={() => setNotice(undefined)}
          >
            <Text className="name">{notice.text}</Text>
          </Alert>
        )}
      </div>
      {children}
    </TellContext>
  );
}

/** The page's own address stands behind the `#`. */
const here = (): string => location.hash.slice(1).split("?")[0] || "/";
