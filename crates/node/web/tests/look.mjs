// Opens every page in every way and keeps pictures of them in the folder that is named: to be looked at.
import { mkdirSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { Fixture } from './fixture.mjs';
import { client_world, world } from './worlds.mjs';

const shots = process.argv[2] ?? 'shots';
mkdirSync(shots, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });

const SIZES = { laptop: { viewport: { width: 1280, height: 800 } }, phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 } };

async function shoot(name, fixture, options, act, whole = false) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && console.log(name, m.text()));
  page.on('pageerror', (e) => console.log(name, String(e)));
  await page.goto(fixture.url);
  await page.waitForTimeout(1500);
  if (act) await act(page);
  await page.screenshot({ path: `${shots}/${name}.png`, fullPage: whole });
  await context.close();
}

for (const clients of [0, 1, 50, 5000]) {
  const fixture = await new Fixture(world(clients, { groups: clients === 1 ? 0 : clients === 5000 ? 40 : 3 })).start();
  await shoot(`${clients}-laptop-light`, fixture, { ...SIZES.laptop, colorScheme: 'light' });
  await shoot(`${clients}-laptop-dark`, fixture, { ...SIZES.laptop, colorScheme: 'dark' }, null, true);
  await shoot(`${clients}-phone`, fixture, { ...SIZES.phone, colorScheme: 'light' }, null, true);
  if (clients === 50) {
    const story = async (page) => {
      await page.locator('tr[data-client="17"] button').click();
      await page.waitForTimeout(500);
    };
    await shoot('story-laptop', fixture, SIZES.laptop, story);
    await shoot('story-phone', fixture, { ...SIZES.phone, colorScheme: 'dark' }, story);
    await shoot('help', fixture, SIZES.laptop, (page) => page.locator('#help-open').click());
    await shoot('tables', fixture, SIZES.laptop, async (page) => {
      await page.locator('#activity-table').click();
      await page.locator('#groups-table').click();
      await page.waitForTimeout(300);
    });
    await shoot('hover', fixture, SIZES.laptop, async (page) => {
      await page.locator('.plot').hover();
      await page.waitForTimeout(200);
    });
    await shoot('gone', fixture, SIZES.laptop, async (page) => {
      await fixture.die();
      await page.waitForTimeout(2500);
      await fixture.come_back();
    });
  }
  await fixture.die();
}
for (const arms of ['known', 'unknown']) {
  const fixture = await new Fixture(world(50, { groups: 0, arms })).start();
  for (const [size, options] of Object.entries(SIZES)) {
    for (const colorScheme of ['light', 'dark']) await shoot(`arms-${arms}-${size}-${colorScheme}`, fixture, { ...options, colorScheme }, null, true);
  }
  await fixture.die();
}
const hostile = await new Fixture(world(50, { hostile: true })).start();
await shoot('hostile', hostile, SIZES.laptop);
await hostile.die();
for (const [name, made] of [['well', client_world()], ['trouble', client_world({ hostile: true, connected: false, gain: false })]]) {
  const fixture = await new Fixture(made, 'client').start();
  await shoot(`client-${name}-laptop`, fixture, { ...SIZES.laptop, colorScheme: 'light' });
  await shoot(`client-${name}-dark`, fixture, { ...SIZES.laptop, colorScheme: 'dark' });
  await shoot(`client-${name}-phone`, fixture, SIZES.phone, null, true);
  await fixture.die();
}
await browser.close();
