// Light or dark: as the system has it, until someone chooses otherwise. The choice is kept where the browser allows it.

const KEY = 'cahoots-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const changed: (() => void)[] = [];

const kept = (): string | null => {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
};

function keep(theme: string | null): void {
  try {
    if (theme) localStorage.setItem(KEY, theme);
    else localStorage.removeItem(KEY);
  } catch {
    // Then it holds until the page is left.
  }
}

const dark = (): boolean => {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : system.matches;
};

/** Calls back whenever colours have changed: canvases do not follow by themselves. */
export const on_theme = (call: () => void): void => void changed.push(call);

/** The value of a colour as it is now. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

export function start_theme(button: HTMLButtonElement): void {
  const chosen = kept();
  if (chosen === 'dark' || chosen === 'light') document.documentElement.dataset.theme = chosen;
  const show = () => {
    button.textContent = dark() ? '☀ light' : '☾ dark';
    button.setAttribute('aria-label', dark() ? 'use light colours' : 'use dark colours');
    for (const call of changed) call();
  };
  button.hidden = false;
  button.addEventListener('click', () => {
    const next = dark() ? 'light' : 'dark';
    // Whoever chooses what the system has goes on following it.
    if ((next === 'dark') === system.matches) {
      delete document.documentElement.dataset.theme;
      keep(null);
    } else {
      document.documentElement.dataset.theme = next;
      keep(next);
    }
    show();
  });
  system.addEventListener('change', show);
  show();
}
