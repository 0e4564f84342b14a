mod promises;
mod speed;
mod world;
